//! What a job on twins consists of, before it moves.

use assay_record::{Cache, Job, TargetKind};

use crate::{
    Driven, Host, Stream, Target, TwinError,
    des::{ClassSeat, Engine, Pages, Runnable, class_seat, layout, thread_seat},
    machine::Part,
    solve,
    solve::{commit::journals, crowds},
    stations::Machine,
};

/// Targets and host of a job.
pub struct Scene {
    /// Targets with their ids.
    pub targets: Vec<(String, Target)>,
    /// As the user named them.
    pub labels: Vec<String>,
    /// The host.
    pub host: Host,
    /// A class writes.
    pub writes: bool,
    file_systems: Vec<Option<String>>,
}

impl Scene {
    /// Reads the twins of a job.
    ///
    /// # Errors
    /// Where a target is no twin, or their hosts differ.
    pub fn new(job: &Job) -> Result<Self, TwinError> {
        let mut scene: Option<Self> = None;
        for target in &job.targets {
            let document = target.twin.as_ref().filter(|_| target.kind == TargetKind::Twin);
            let document = document.ok_or_else(|| {
                TwinError::field(&target.id, "no twin", "use twins for all targets of a job, or for none")
            })?;
            let driven = Driven::parse(document)?;
            let scene = scene.get_or_insert_with(|| Self {
                targets: Vec::new(),
                labels: Vec::new(),
                host: driven.host.clone(),
                writes: job.classes.iter().any(|class| assay_load::generator::writes(class.operation)),
                file_systems: Vec::new(),
            });
            if scene.host != driven.host {
                return Err(TwinError::field(&target.id, driven.host.name, "give all targets of a job one host"));
            }
            scene.targets.push((target.id.clone(), driven.target));
            scene.labels.push(driven.label);
            scene.file_systems.push(driven.file_system);
        }
        scene.ok_or_else(|| TwinError::field("targets", "none", "name a twin"))
    }

    /// Its targets, as a record describes them.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.targets.iter().enumerate().map(|(index, (id, target))| Part {
            name: id,
            label: &self.labels[index],
            target,
            file_system: self.file_system(index),
        })
    }

    /// Index of the target of a class.
    pub fn target_of(&self, job: &Job, class: usize) -> usize {
        let dataset = job.dataset_of(&job.classes[class]);
        let id = dataset.map_or("", |dataset| dataset.target.as_str());
        self.targets.iter().position(|(name, _)| name == id).unwrap_or(0)
    }

    /// File system of a target, as the host knows it.
    pub fn file_system(&self, target: usize) -> Option<&str> {
        self.file_systems[target].as_deref()
    }

    /// Everything in its place at time 0.
    ///
    /// # Errors
    /// Where a target or the host cannot do what a class asks.
    pub fn engine(&self, job: &Job) -> Result<Engine<Machine>, TwinError> {
        let machines: Result<Vec<Machine>, TwinError> =
            (0..self.targets.len()).map(|index| self.machine(job, index)).collect();
        let begins = layout(job, &self.targets)?;
        let mut classes = self.classes(job)?;
        self.seat_load_store(&mut classes);
        let pages = self.pages(job, &begins, &mut classes);
        // Those that run have the rate and the files of all.
        let mut run = job.clone();
        run.classes.iter_mut().zip(&classes).for_each(|(class, seat)| class.threads = seat.threads);
        let mut threads = Vec::new();
        for (index, class) in classes.iter().enumerate() {
            let Some(place) = job.datasets.iter().position(|dataset| dataset.name == job.classes[index].dataset) else {
                continue;
            };
            let seats = 0..class.threads;
            threads.extend(seats.map(|thread| thread_seat(&run, index, thread, &job.datasets[place], begins[place])));
        }
        let mut running = threads.len() as u32;
        for workers in classes.iter_mut().filter_map(|class| class.workers.as_mut()) {
            workers.free = (running..running + workers.count).collect();
            running += workers.count;
        }
        let cores = Runnable::new(self.host.hardware_threads() as u32, running);
        let mut engine = Engine::new(machines?, classes, threads, pages, cores, job.seed);
        engine.set_journals(self.targets.iter().map(|(_, target)| journals(target) as usize));
        Ok(engine)
    }

    fn machine(&self, job: &Job, index: usize) -> Result<Machine, TwinError> {
        let (id, target) = &self.targets[index];
        let here = job.datasets.iter().filter(|dataset| dataset.target == *id);
        let used: f64 = here.map(|dataset| dataset.bytes as f64 * f64::from(dataset.files)).sum();
        Machine::holding(target, job.seed, used)
    }

    fn classes(&self, job: &Job) -> Result<Vec<ClassSeat>, TwinError> {
        let seat = |index: usize| {
            let machine = self.target_of(job, index);
            let system = self.file_systems[machine].as_deref();
            let mut seat = class_seat(job, &job.classes[index], &self.targets[machine].1, machine, &self.host, system)?;
            let room = self.host.page_cache_bytes.as_ref().map(|bytes| bytes.value as u64);
            seat.stream.warm =
                seat.stream.path.key.is_buffered() && is_warm(job, room, seat.stream.working_set_bytes as u64);
            Ok(seat)
        };
        let mut seats: Vec<ClassSeat> = (0..job.classes.len()).map(seat).collect::<Result<_, TwinError>>()?;
        for machine in 0..self.targets.len() {
            self.crowd(machine, &mut seats);
        }
        Ok(seats)
    }

    /// Cycles grow with the threads that are busy in a path; how many are, the analytic engine says.
    fn crowd(&self, machine: usize, seats: &mut [ClassSeat]) {
        let here = || (0..seats.len()).filter(|index| seats[*index].machine == machine);
        let streams: Vec<Stream> = here().map(|index| seats[index].stream.clone()).collect();
        let Ok(crowds) = crowds(&self.targets[machine].1, &self.host, &streams) else { return };
        let stretched: Vec<(usize, f64)> = here().zip(crowds).collect();
        for (index, factor) in stretched {
            seats[index].costs.stretch(factor);
        }
    }

    /// Operations per second that the analytic engine expects of all classes; those that it cannot answer for do not count.
    pub fn expected_ops_per_s(&self, seats: &[ClassSeat]) -> f64 {
        let of = |machine: usize| {
            let here = seats.iter().filter(|seat| seat.machine == machine);
            let streams: Vec<Stream> = here.map(|seat| seat.stream.clone()).collect();
            let solution = solve(&self.targets[machine].1, &self.host, &streams).ok();
            solution.map_or(0.0, |solution| solution.streams.iter().map(|stream| stream.ops_per_s).sum())
        };
        (0..self.targets.len()).map(of).sum()
    }

    /// Threads that load and store hold a core all the time: more of them than cores do not run at once.
    fn seat_load_store(&self, classes: &mut [ClassSeat]) {
        let holds = |class: &ClassSeat| class.stream.path.holds_core();
        let asked: u32 = classes.iter().filter(|class| holds(class)).map(|class| class.threads).sum();
        for class in classes.iter_mut().filter(|class| holds(class)) {
            class.threads = self.host.running(class.threads, asked) as u32;
        }
    }

    fn pages(&self, job: &Job, begins: &[u64], classes: &mut [ClassSeat]) -> Vec<Pages> {
        let room = self.host.page_cache_bytes.as_ref().map(|bytes| bytes.value as u64);
        let mut pages = Vec::new();
        for (dataset, begin) in job.datasets.iter().zip(begins) {
            let users: Vec<usize> = (0..classes.len())
                .filter(|index| job.classes[*index].dataset == dataset.name)
                .filter(|index| classes[*index].stream.path.key.is_buffered())
                .collect();
            if users.is_empty() {
                continue;
            }
            let bytes = dataset.bytes * u64::from(dataset.files);
            let warm = is_warm(job, room, bytes);
            users.iter().for_each(|index| classes[*index].pages = Some(pages.len()));
            pages.push(Pages::new(*begin, bytes, room, warm));
        }
        pages
    }

    /// Lets the page caches fill `factor` times as fast.
    pub fn hasten(&self, job: &Job, engine: &mut Engine<Machine>, factor: f64) {
        let room = self.host.page_cache_bytes.as_ref().map(|bytes| bytes.value as u64);
        for index in 0..engine.pages.len() {
            let user = engine.classes.iter().position(|class| class.pages == Some(index));
            let dataset = user.and_then(|user| job.dataset_of(&job.classes[user]));
            let bytes = dataset.map_or(0, |dataset| dataset.bytes * u64::from(dataset.files));
            engine.pages[index].hasten(factor, is_warm(job, room, bytes));
        }
    }
}

/// What was just written lies in memory; what was left as found does so as far as it fits.
pub fn is_warm(job: &Job, room: Option<u64>, bytes: u64) -> bool {
    job.cache == Cache::Warm || job.cache == Cache::AsFound && room.is_none_or(|room| bytes <= room)
}
