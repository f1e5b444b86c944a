//! Which transaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of the five.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An order is taken.
    NewOrder,
    /// A customer pays.
    Payment,
    /// A customer asks for the last order.
    OrderStatus,
    /// The oldest orders of a warehouse are delivered.
    Delivery,
    /// A district asks what runs out.
    StockLevel,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// As records have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "new_order",
            Self::Payment => "payment",
            Self::OrderStatus => "order_status",
            Self::Delivery => "delivery",
            Self::StockLevel => "stock_level",
        }
    }

    /// Changes nothing.
    pub fn is_read_only(self) -> bool {
        matches!(self, Self::OrderStatus | Self::StockLevel)
    }
}
