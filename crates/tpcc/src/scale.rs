//! How large a data set is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Result, TpccError};

/// Districts of a warehouse.
pub const DISTRICTS: u8 = 10;
/// Most lines of an order.
pub const LINES_AT_MOST: usize = 15;
/// Most warehouses of a data set: their numbers fit into the keys of every store.
pub const WAREHOUSES_AT_MOST: u32 = 1_000_000;

/// Sizes of the tables (clause 1.2.1, 4.3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Warehouses.
    pub warehouses: u32,
    /// Items, and rows of stock per warehouse; 100,000 by the specification.
    #[serde(default = "Scale::items_of_specification")]
    pub items: u32,
    /// Customers per district, and orders that it begins with; 3,000 by the specification.
    #[serde(default = "Scale::customers_of_specification")]
    pub customers: u16,
}

impl Scale {
    /// The specification's sizes.
    pub fn of(warehouses: u32) -> Self {
        Self { warehouses, items: Self::items_of_specification(), customers: Self::customers_of_specification() }
    }

    /// A hundredth of each warehouse, for tests.
    pub fn small(warehouses: u32) -> Self {
        Self { warehouses, items: 1_000, customers: 30 }
    }

    fn items_of_specification() -> u32 {
        100_000
    }

    fn customers_of_specification() -> u16 {
        3_000
    }

    /// Warehouses are as large as the specification wants them.
    pub fn is_full(&self) -> bool {
        *self == Self::of(self.warehouses)
    }

    /// Orders of a district that a load leaves undelivered: the last 30 % of them.
    pub fn undelivered(&self) -> u32 {
        u32::from(self.customers) * 3 / 10
    }

    /// First order of a district that a load leaves undelivered.
    pub fn first_undelivered(&self) -> u32 {
        u32::from(self.customers) - self.undelivered() + 1
    }

    /// Different last names that customers have.
    pub fn names(&self) -> u16 {
        self.customers.min(1_000)
    }

    /// Rows of all tables after a load, about: order lines are ten an order on average.
    pub fn rows(&self) -> u64 {
        let district = u64::from(self.customers) * 13 + u64::from(self.undelivered()) + 1;
        u64::from(self.items) + u64::from(self.warehouses) * (1 + u64::from(self.items) + 10 * district)
    }

    /// Refuses what cannot be loaded.
    ///
    /// # Errors
    /// [`TpccError::Asked`].
    pub fn validate(&self) -> Result<()> {
        let good = (1..=WAREHOUSES_AT_MOST).contains(&self.warehouses)
            && (20..=100_000).contains(&self.items)
            && (10..=3_000).contains(&self.customers);
        if good {
            return Ok(());
        }
        let Self { warehouses, items, customers } = self;
        Err(TpccError::Asked {
            reason: format!(
                "{warehouses} warehouses with {items} items and {customers} customers a district cannot be"
            ),
            fix: "use 1 to 1,000,000 warehouses, 20 to 100,000 items and 10 to 3,000 customers",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_specification() {
        let scale = Scale::of(2);
        assert_eq!(
            (scale.items, scale.customers, scale.undelivered(), scale.first_undelivered()),
            (100_000, 3000, 900, 2101)
        );
        assert!(scale.is_full() && !Scale::small(2).is_full());
        assert!(scale.validate().is_ok() && Scale::small(1).validate().is_ok());
        assert!(Scale::of(0).validate().is_err());
    }
}
