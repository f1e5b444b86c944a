//! A store that does nothing: what the driver can do without a database.

use std::ops::ControlFlow;

use assay_record::WorkCheck;

use crate::{
    error::Result,
    input::{By, NewOrder, Payment},
    kind::Kind,
    rows::{History, Order, OrderLine},
    scale::Scale,
    store::{Account, Delivered, Delivery, Oldest, Sale, Session, Status, Store, Terms},
    text::Text,
};

/// The store.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullStore {
    /// Items that exist; an order of others is rolled back, as it is elsewhere.
    pub items: u32,
}

/// Its session.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSession {
    items: u32,
    order: u32,
}

impl Store for NullStore {
    type Session<'a> = NullSession;

    fn session(&self) -> Result<NullSession> {
        Ok(NullSession { items: self.items, order: 0 })
    }

    fn load(&self, _scale: &Scale, _seed: u64, _progress: &mut dyn FnMut(f64) -> ControlFlow<()>) -> Result<()> {
        Ok(())
    }

    fn check(&self, _scale: &Scale, _delivered: u64) -> Result<Vec<WorkCheck>> {
        Ok(Vec::new())
    }

    fn spoil(&self, _condition: u8) -> Result<()> {
        Ok(())
    }

    fn orders_taken(&self, _scale: &Scale) -> Result<u64> {
        Ok(0)
    }
}

impl Session for NullSession {
    fn begin(&mut self, _kind: Kind) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    fn abort(&mut self) -> Result<()> {
        Ok(())
    }

    fn terms(&mut self, _order: &NewOrder) -> Result<Terms> {
        self.order += 1;
        Ok(Terms { order: self.order, warehouse_tax: 1000, district_tax: 1000, discount: 1000 })
    }

    fn sell(&mut self, order: &NewOrder, mut sell: impl FnMut(usize, &mut Sale)) -> Result<bool> {
        for (at, line) in order.lines().iter().enumerate() {
            if line.item > self.items {
                return Ok(false);
            }
            let mut sale = Sale { price: 100, quantity: 50, ..Sale::default() };
            sell(at, &mut sale);
            std::hint::black_box(&sale);
        }
        Ok(true)
    }

    fn insert_order(&mut self, _order: &NewOrder, _number: u32, row: &Order, lines: &[OrderLine]) -> Result<()> {
        std::hint::black_box((row, lines));
        Ok(())
    }

    fn receive(&mut self, _payment: &Payment) -> Result<(Text<10>, Text<10>)> {
        Ok((Text::of(b"warehouse"), Text::of(b"district")))
    }

    fn pay(&mut self, _payment: &Payment, change: impl FnOnce(u16, &mut Account)) -> Result<u16> {
        let mut account = Account::default();
        change(1, &mut account);
        std::hint::black_box(&account);
        Ok(1)
    }

    fn insert_history(&mut self, _payment: &Payment, row: &History) -> Result<()> {
        std::hint::black_box(row);
        Ok(())
    }

    fn status(&mut self, _warehouse: u32, _district: u8, by: &By) -> Result<Status> {
        std::hint::black_box(by);
        Ok(Status::default())
    }

    fn take_oldest(&mut self, _warehouse: u32) -> Result<Oldest> {
        Ok([1; 10])
    }

    fn deliver(&mut self, delivery: &Delivery<'_>, mut delivered: impl FnMut(Delivered)) -> Result<()> {
        for (district, order) in delivery.orders() {
            delivered(Delivered { district, order, customer: 1, amount: 1 });
        }
        Ok(())
    }

    fn charge(&mut self, _warehouse: u32, delivered: &[Delivered]) -> Result<()> {
        std::hint::black_box(delivered);
        Ok(())
    }

    fn stock_level(&mut self, _warehouse: u32, _district: u8, _threshold: u8) -> Result<u32> {
        Ok(0)
    }
}
