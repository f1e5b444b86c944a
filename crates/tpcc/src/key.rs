//! Keys of the tables as bytes: big-endian, so that they sort as the numbers do.

/// Bytes of the longest key.
pub const KEY_BYTES_AT_MOST: usize = 39;

/// The tables, and the two secondary access paths (a customer by last name, the orders of a customer).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Table {
    /// By warehouse.
    Warehouse,
    /// By warehouse, district.
    District,
    /// By warehouse, district, customer.
    Customer,
    /// By warehouse, district, last name, first name, customer. Values are empty.
    CustomerName,
    /// By warehouse, district, instant, session; written once, read by checks alone.
    History,
    /// By warehouse, district, order. Values are empty.
    NewOrder,
    /// By warehouse, district, order.
    Order,
    /// By warehouse, district, customer, order. Values are empty.
    CustomerOrder,
    /// By warehouse, district, order, line.
    OrderLine,
    /// By item.
    Item,
    /// By warehouse, item.
    Stock,
}

impl Table {
    /// All of them, in the order in which they are best loaded.
    pub const ALL: [Self; 11] = [
        Self::Item,
        Self::Warehouse,
        Self::District,
        Self::Customer,
        Self::CustomerName,
        Self::History,
        Self::NewOrder,
        Self::Order,
        Self::CustomerOrder,
        Self::OrderLine,
        Self::Stock,
    ];

    /// Bytes of every key of the table.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Warehouse | Self::Item => 4,
            Self::District => 5,
            Self::Customer => 7,
            Self::CustomerName => 39,
            Self::History => 15,
            Self::NewOrder | Self::Order => 9,
            Self::CustomerOrder => 11,
            Self::OrderLine => 10,
            Self::Stock => 8,
        }
    }

    /// Bytes of every value of the table; 0 where keys say it all.
    pub const fn value_bytes(self) -> usize {
        use crate::{row::Row, rows};
        match self {
            Self::Warehouse => rows::Warehouse::SIZE,
            Self::District => rows::District::SIZE,
            Self::Customer => rows::Customer::SIZE,
            Self::CustomerName | Self::NewOrder | Self::CustomerOrder => 0,
            Self::History => rows::History::SIZE,
            Self::Order => rows::Order::SIZE,
            Self::OrderLine => rows::OrderLine::SIZE,
            Self::Item => rows::Item::SIZE,
            Self::Stock => rows::Stock::SIZE,
        }
    }
}

/// A key of `N` bytes, put together from its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key<const N: usize> {
    bytes: [u8; N],
}

impl<const N: usize> std::ops::Deref for Key<N> {
    type Target = [u8];
    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

macro_rules! keys {
    ($($(#[$meta:meta])* $name:ident($($part:ident: $kind:ty),*) -> $size:literal;)*) => {$(
        $(#[$meta])*
        #[inline]
        pub fn $name($($part: $kind),*) -> Key<$size> {
            let mut bytes = [0; $size];
            let mut at = 0;
            $(
                bytes[at..at + size_of::<$kind>()].copy_from_slice(&$part.to_be_bytes());
                at += size_of::<$kind>();
            )*
            debug_assert_eq!(at, $size);
            Key { bytes }
        }
    )*};
}

keys! {
    /// Key of a warehouse.
    warehouse(warehouse: u32) -> 4;
    /// Key of a district.
    district(warehouse: u32, district: u8) -> 5;
    /// Key of a customer.
    customer(warehouse: u32, district: u8, customer: u16) -> 7;
    /// Key of a payment.
    history(warehouse: u32, district: u8, date: i64, session: u16) -> 15;
    /// Key of an order, and of its entry among those that are not delivered.
    order(warehouse: u32, district: u8, order: u32) -> 9;
    /// Key of an order among those of its customer.
    customer_order(warehouse: u32, district: u8, customer: u16, order: u32) -> 11;
    /// Key of a line.
    order_line(warehouse: u32, district: u8, order: u32, line: u8) -> 10;
    /// Key of an item.
    item(item: u32) -> 4;
    /// Key of stock.
    stock(warehouse: u32, item: u32) -> 8;
}

/// Key of a customer among those of the same name; names shorter than 16 bytes end in zeros, which sort first.
#[inline]
pub fn customer_name(warehouse: u32, district: u8, last: &[u8; 16], first: &[u8; 16], customer: u16) -> Key<39> {
    let mut bytes = [0; 39];
    bytes[..4].copy_from_slice(&warehouse.to_be_bytes());
    bytes[4] = district;
    bytes[5..21].copy_from_slice(last);
    bytes[21..37].copy_from_slice(first);
    bytes[37..].copy_from_slice(&customer.to_be_bytes());
    Key { bytes }
}

/// The last four bytes of a key as a number: the order of an order's key.
#[inline]
pub fn last_u32(key: &[u8]) -> u32 {
    key.last_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// The last two bytes of a key as a number: the customer of a name's key.
#[inline]
pub fn last_u16(key: &[u8]) -> u16 {
    key.last_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes))
}

/// The bytes of a key from `at` on as a number; 0 where there are fewer.
#[inline]
pub fn u32_at(key: &[u8], at: usize) -> u32 {
    key.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_sort_as_their_parts(a in any::<(u32, u8, u32, u8)>(), b in any::<(u32, u8, u32, u8)>()) {
            let (x, y) = (order_line(a.0, a.1, a.2, a.3), order_line(b.0, b.1, b.2, b.3));
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        }

        #[test]
        fn names_sort_as_text(a in "[A-Z]{1,16}", b in "[A-Z]{1,16}") {
            let key = |name: &str| customer_name(1, 1, Text::of(name.as_bytes()).padded(), &[0; 16], 1);
            prop_assert_eq!(key(&a).cmp(&key(&b)), a.cmp(&b));
        }
    }

    #[test]
    fn every_key_has_the_length_that_its_table_says() {
        assert_eq!(customer_name(1, 1, &[0; 16], &[0; 16], 1).len(), Table::CustomerName.key_bytes());
        assert_eq!(history(1, 1, 1, 1).len(), Table::History.key_bytes());
        assert_eq!(order_line(1, 1, 1, 1).len(), Table::OrderLine.key_bytes());
        assert_eq!(customer_order(1, 1, 1, 1).len(), Table::CustomerOrder.key_bytes());
        assert!(Table::ALL.iter().all(|table| table.key_bytes() <= KEY_BYTES_AT_MOST));
        assert_eq!(last_u32(&customer_order(1, 1, 1, 77)), 77);
        assert_eq!(last_u16(&customer_name(1, 1, &[0; 16], &[0; 16], 55)), 55);
    }
}
