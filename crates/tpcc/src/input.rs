//! What the terminals ask for: the inputs of the transactions (clause 2.4 to 2.8) and the mix (clause 5.2.3).

use rand_distr::{Distribution, Zipf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Result, TpccError},
    kind::Kind,
    random::{Dice, NonUniform, last_name},
    scale::{DISTRICTS, LINES_AT_MOST, Scale},
    text::Text,
};

/// Warehouse of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Choice {
    /// Each terminal has one, as the specification has it: with fewer terminals than warehouses the other warehouses are
    /// hardly touched.
    #[default]
    Home,
    /// Any, each as likely.
    Uniform,
    /// Any, by Zipf's law.
    Zipf {
        /// Exponent, above 0 and at most 5.
        exponent: f64,
    },
}

/// How a customer is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By number.
    Number(u16),
    /// By last name.
    Name(Text<16>),
}

/// One line that is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Item; one that does not exist where the order is to be rolled back.
    pub item: u32,
    /// Warehouse that supplies it.
    pub supply: u32,
    /// Pieces.
    pub quantity: u8,
}

/// A New-Order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Warehouse.
    pub warehouse: u32,
    /// District.
    pub district: u8,
    /// Customer.
    pub customer: u16,
    /// Lines; the first `count` of them count.
    pub wanted: [Wanted; LINES_AT_MOST],
    /// How many.
    pub count: u8,
    /// When, microseconds since 1970.
    pub date: i64,
}

impl NewOrder {
    /// The lines.
    #[inline]
    pub fn lines(&self) -> &[Wanted] {
        &self.wanted[..usize::from(self.count)]
    }

    /// Lines that another warehouse supplies.
    pub fn remote_lines(&self) -> u32 {
        self.lines().iter().filter(|line| line.supply != self.warehouse).count() as u32
    }
}

/// A Payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Warehouse that gets it.
    pub warehouse: u32,
    /// District that gets it.
    pub district: u8,
    /// The customer's warehouse.
    pub customer_warehouse: u32,
    /// The customer's district.
    pub customer_district: u8,
    /// The customer.
    pub by: By,
    /// Cents.
    pub amount: i64,
    /// When, microseconds since 1970.
    pub date: i64,
}

/// What a terminal asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "one lives at a time, on the stack of its terminal")]
pub enum Input {
    /// An order.
    NewOrder(NewOrder),
    /// A payment.
    Payment(Payment),
    /// The state of a customer's last order.
    OrderStatus {
        /// Warehouse.
        warehouse: u32,
        /// District.
        district: u8,
        /// Customer.
        by: By,
    },
    /// Delivery of the oldest order of every district.
    Delivery {
        /// Warehouse.
        warehouse: u32,
        /// Carrier.
        carrier: u8,
        /// When, microseconds since 1970.
        date: i64,
    },
    /// What runs out.
    StockLevel {
        /// Warehouse.
        warehouse: u32,
        /// District.
        district: u8,
        /// Below how many pieces.
        threshold: u8,
    },
}

impl Input {
    /// Which of the five.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NewOrder(_) => Kind::NewOrder,
            Self::Payment(_) => Kind::Payment,
            Self::OrderStatus { .. } => Kind::OrderStatus,
            Self::Delivery { .. } => Kind::Delivery,
            Self::StockLevel { .. } => Kind::StockLevel,
        }
    }

    /// Its home warehouse.
    pub fn warehouse(&self) -> u32 {
        match self {
            Self::NewOrder(order) => order.warehouse,
            Self::Payment(payment) => payment.warehouse,
            Self::OrderStatus { warehouse, .. }
            | Self::Delivery { warehouse, .. }
            | Self::StockLevel { warehouse, .. } => *warehouse,
        }
    }
}

/// Shares of the five transactions, percent. The specification asks for at least 43 Payments and 4 of each of the last
/// three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Share of New-Order.
    pub new_order: u32,
    /// Share of Payment.
    pub payment: u32,
    /// Share of Order-Status.
    pub order_status: u32,
    /// Share of Delivery.
    pub delivery: u32,
    /// Share of Stock-Level.
    pub stock_level: u32,
}

impl Default for Mix {
    fn default() -> Self {
        Self { new_order: 45, payment: 43, order_status: 4, delivery: 4, stock_level: 4 }
    }
}

impl Mix {
    /// The shares in the order of [`Kind::ALL`].
    pub fn shares(&self) -> [u32; 5] {
        [self.new_order, self.payment, self.order_status, self.delivery, self.stock_level]
    }

    /// Refuses shares that are not a hundred together.
    ///
    /// # Errors
    /// [`TpccError::Asked`].
    pub fn validate(&self) -> Result<()> {
        let sum: u64 = self.shares().iter().map(|share| u64::from(*share)).sum();
        if sum == 100 {
            return Ok(());
        }
        let reason = format!("the shares of the mix are {sum} together, not 100");
        Err(TpccError::Asked { reason, fix: "give five shares in percent, such as 45,43,4,4,4" })
    }
}

/// Makes the inputs of one terminal.
#[derive(Clone, Debug)]
pub struct Asker {
    scale: Scale,
    dice: Dice,
    constants: NonUniform,
    choice: Warehouses,
    /// A hundred transactions, dealt like cards: the mix holds exactly over each hundred (clause 5.2.4.2).
    deck: [Kind; 100],
    next: usize,
}

#[derive(Clone, Debug)]
enum Warehouses {
    Home { warehouse: u32, district: u8 },
    Uniform,
    Zipf(Zipf<f64>),
}

impl Asker {
    /// The inputs of terminal `terminal`, counted from 0.
    ///
    /// # Errors
    /// [`TpccError::Asked`] where the mix or the exponent of Zipf's law cannot be.
    pub fn new(
        scale: Scale,
        choice: Choice,
        mix: &Mix,
        constants: NonUniform,
        terminal: u32,
        seed: u64,
    ) -> Result<Self> {
        mix.validate()?;
        let choice = match choice {
            Choice::Home => Warehouses::Home {
                warehouse: terminal % scale.warehouses + 1,
                district: (terminal / scale.warehouses % u32::from(DISTRICTS)) as u8 + 1,
            },
            Choice::Uniform => Warehouses::Uniform,
            Choice::Zipf { exponent } => Warehouses::Zipf(zipf(scale.warehouses, exponent)?),
        };
        let mut deck = [Kind::NewOrder; 100];
        let kinds = Kind::ALL.iter().zip(mix.shares()).flat_map(|(kind, share)| (0..share).map(move |_| *kind));
        deck.iter_mut().zip(kinds).for_each(|(card, kind)| *card = kind);
        Ok(Self { scale, dice: Dice::new(seed), constants, choice, deck, next: 100 })
    }

    /// The next transaction, dated `date` (microseconds since 1970).
    #[inline]
    pub fn ask(&mut self, date: i64) -> Input {
        match self.deal() {
            Kind::NewOrder => Input::NewOrder(self.new_order(date)),
            Kind::Payment => Input::Payment(self.payment(date)),
            Kind::OrderStatus => {
                let (warehouse, district) = self.place();
                Input::OrderStatus { warehouse, district, by: self.customer() }
            }
            Kind::Delivery => {
                let (warehouse, _) = self.place();
                Input::Delivery { warehouse, carrier: self.dice.between(1, 10) as u8, date }
            }
            Kind::StockLevel => {
                let (warehouse, district) = self.place_of_stock_level();
                Input::StockLevel { warehouse, district, threshold: self.dice.between(10, 20) as u8 }
            }
        }
    }

    /// For think times: the terminal's own stream.
    pub fn dice(&mut self) -> &mut Dice {
        &mut self.dice
    }

    fn deal(&mut self) -> Kind {
        if self.next == self.deck.len() {
            self.next = 0;
            for at in (1..self.deck.len()).rev() {
                let other = self.dice.between(0, at as u32) as usize;
                self.deck.swap(at, other);
            }
        }
        self.next += 1;
        self.deck[self.next - 1]
    }

    fn warehouse(&mut self) -> u32 {
        match &self.choice {
            Warehouses::Home { warehouse, .. } => *warehouse,
            Warehouses::Uniform => self.dice.between(1, self.scale.warehouses),
            Warehouses::Zipf(law) => (law.sample(self.dice.generator()) as u32).clamp(1, self.scale.warehouses),
        }
    }

    fn place(&mut self) -> (u32, u8) {
        (self.warehouse(), self.dice.between(1, u32::from(DISTRICTS)) as u8)
    }

    /// Each terminal asks for the stock of a district of its own (clause 2.8.1.1); without homes, of any.
    fn place_of_stock_level(&mut self) -> (u32, u8) {
        match self.choice {
            Warehouses::Home { warehouse, district } => (warehouse, district),
            _ => self.place(),
        }
    }

    /// By last name six times of ten (clause 2.5.1.2).
    fn customer(&mut self) -> By {
        if self.dice.percent(60) {
            By::Name(last_name(self.constants.name(&mut self.dice, self.scale.names())))
        } else {
            By::Number(self.constants.customer(&mut self.dice, self.scale.customers))
        }
    }

    /// Clause 2.4.1: one line of a hundred is supplied by another warehouse, one order of a hundred asks for an item
    /// that does not exist.
    fn new_order(&mut self, date: i64) -> NewOrder {
        let (warehouse, district) = self.place();
        let customer = self.constants.customer(&mut self.dice, self.scale.customers);
        let count = self.dice.between(5, LINES_AT_MOST as u32) as u8;
        let mut wanted = [Wanted::default(); LINES_AT_MOST];
        for line in &mut wanted[..usize::from(count)] {
            let item = self.constants.item(&mut self.dice, self.scale.items);
            let supply = if self.dice.percent(1) { self.other_than(warehouse) } else { warehouse };
            *line = Wanted { item, supply, quantity: self.dice.between(1, 10) as u8 };
        }
        if self.dice.percent(1) {
            wanted[usize::from(count) - 1].item = self.scale.items + 1;
        }
        NewOrder { warehouse, district, customer, wanted, count, date }
    }

    /// Clause 2.5.1: 15 of a hundred customers pay at a warehouse that is not their own.
    fn payment(&mut self, date: i64) -> Payment {
        let (warehouse, district) = self.place();
        let (customer_warehouse, customer_district) = if self.scale.warehouses > 1 && self.dice.percent(15) {
            (self.other_than(warehouse), self.dice.between(1, u32::from(DISTRICTS)) as u8)
        } else {
            (warehouse, district)
        };
        let by = self.customer();
        let amount = i64::from(self.dice.between(100, 500_000));
        Payment { warehouse, district, customer_warehouse, customer_district, by, amount, date }
    }

    fn other_than(&mut self, warehouse: u32) -> u32 {
        if self.scale.warehouses == 1 {
            return warehouse;
        }
        let other = self.dice.between(1, self.scale.warehouses - 1);
        if other >= warehouse { other + 1 } else { other }
    }
}

fn zipf(warehouses: u32, exponent: f64) -> Result<Zipf<f64>> {
    let law = (exponent > 0.0 && exponent <= 5.0).then(|| Zipf::new(f64::from(warehouses), exponent).ok()).flatten();
    law.ok_or_else(|| TpccError::Asked {
        reason: format!("Zipf's law has no exponent of {exponent}"),
        fix: "use one above 0 and at most 5, such as 0.99",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(warehouses: u32, choice: Choice, terminal: u32) -> Asker {
        let constants = NonUniform::for_load(1);
        Asker::new(Scale::of(warehouses), choice, &Mix::default(), constants, terminal, 5).unwrap()
    }

    #[test]
    fn every_hundred_holds_the_mix() {
        let mut asker = asker(3, Choice::Uniform, 0);
        for _ in 0..20 {
            let kinds: Vec<Kind> = (0..100).map(|_| asker.ask(0).kind()).collect();
            let counts = Kind::ALL.map(|kind| kinds.iter().filter(|seen| **seen == kind).count());
            assert_eq!(counts, [45, 43, 4, 4, 4]);
        }
    }

    #[test]
    fn shares_of_remote_lines_remote_payments_names_and_rollbacks_are_those_of_the_specification() {
        let mut asker = asker(10, Choice::Uniform, 0);
        let inputs: Vec<Input> = (0..100_000).map(|_| asker.ask(0)).collect();
        let orders: Vec<&NewOrder> = inputs
            .iter()
            .filter_map(|input| if let Input::NewOrder(order) = input { Some(order) } else { None })
            .collect();
        let lines: u32 = orders.iter().map(|order| u32::from(order.count)).sum();
        let remote: u32 = orders.iter().map(|order| order.remote_lines()).sum();
        let missing = orders.iter().filter(|order| order.lines().iter().any(|line| line.item > 100_000)).count();
        assert!((f64::from(lines) / orders.len() as f64 - 10.0).abs() < 0.1);
        assert!((0.009..0.011).contains(&(f64::from(remote) / f64::from(lines))), "{remote} of {lines}");
        assert!((0.008..0.012).contains(&(missing as f64 / orders.len() as f64)), "{missing}");
        let payments: Vec<&Payment> = inputs
            .iter()
            .filter_map(|input| if let Input::Payment(payment) = input { Some(payment) } else { None })
            .collect();
        let away = payments.iter().filter(|payment| payment.customer_warehouse != payment.warehouse).count();
        let named = payments.iter().filter(|payment| matches!(payment.by, By::Name(_))).count();
        assert!((0.14..0.16).contains(&(away as f64 / payments.len() as f64)), "{away}");
        assert!((0.59..0.61).contains(&(named as f64 / payments.len() as f64)), "{named}");
    }

    #[test]
    fn terminals_at_home_stay_there_and_others_reach_every_warehouse() {
        let mut home = asker(10, Choice::Home, 13);
        assert!((0..1000).all(|_| home.ask(0).warehouse() == 4));
        for choice in [Choice::Uniform, Choice::Zipf { exponent: 0.9 }] {
            let mut anywhere = asker(10, choice, 13);
            let mut counts = [0; 11];
            (0..5000).for_each(|_| counts[anywhere.ask(0).warehouse() as usize] += 1);
            assert!(counts[0] == 0 && counts[1..].iter().all(|count| *count > 50), "{choice:?}: {counts:?}");
            assert_eq!(choice != Choice::Uniform, counts[1] > 3 * counts[10], "{choice:?}: {counts:?}");
        }
    }

    #[test]
    fn one_warehouse_has_no_remote_lines() {
        let mut asker = asker(1, Choice::Home, 0);
        for _ in 0..5000 {
            match asker.ask(0) {
                Input::NewOrder(order) => assert_eq!(order.remote_lines(), 0),
                Input::Payment(payment) => assert_eq!(payment.customer_warehouse, 1),
                _ => {}
            }
        }
    }

    #[test]
    fn a_mix_of_other_than_a_hundred_and_a_wild_exponent_are_refused() {
        assert!(Mix { payment: 44, ..Mix::default() }.validate().is_err());
        for exponent in [0.0, -1.0, f64::NAN, 9.0] {
            assert!(zipf(4, exponent).is_err());
        }
    }
}
