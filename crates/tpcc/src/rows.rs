//! The nine tables (clause 1.3) without their keys, which [`crate::key`] has.
//!
//! Money is in cents and rates in ten-thousandths, as integers: exact, and the same in every store. Instants are
//! microseconds since 1970; 0 stands for null there and in a carrier's number.

use crate::{row::row, text::Text};

row! {
    /// A warehouse.
    Warehouse "warehouse" {
        /// Cents paid in the year.
        ytd: i64,
        /// Sales tax, ten-thousandths.
        tax: u16,
        /// Name.
        name: Text<10>,
        /// Street.
        street: [Text<20>; 2],
        /// City.
        city: Text<20>,
        /// State.
        state: Text<2>,
        /// Zip code.
        zip: Text<9>,
    }
}

row! {
    /// A district.
    District "district" {
        /// Cents paid in the year.
        ytd: i64,
        /// Number of the next order.
        next_order: u32,
        /// Sales tax, ten-thousandths.
        tax: u16,
        /// Name.
        name: Text<10>,
        /// Street.
        street: [Text<20>; 2],
        /// City.
        city: Text<20>,
        /// State.
        state: Text<2>,
        /// Zip code.
        zip: Text<9>,
    }
}

row! {
    /// A customer.
    Customer "customer" {
        /// What is owed, cents.
        balance: i64,
        /// Cents paid in the year.
        ytd_payment: i64,
        /// Payments made.
        payments: u32,
        /// Orders delivered.
        deliveries: u32,
        /// Discount, ten-thousandths.
        discount: u16,
        /// `GC` good or `BC` bad.
        credit: Text<2>,
        /// Last name.
        last: Text<16>,
        /// First name.
        first: Text<16>,
        /// Middle initials.
        middle: Text<2>,
        /// Credit limit, cents.
        credit_limit: i64,
        /// Customer since.
        since: i64,
        /// Street.
        street: [Text<20>; 2],
        /// City.
        city: Text<20>,
        /// State.
        state: Text<2>,
        /// Zip code.
        zip: Text<9>,
        /// Telephone.
        phone: Text<16>,
        /// Miscellaneous; payments of customers with bad credit are noted here.
        data: Text<500>,
    }
}

row! {
    /// A payment that was made. The warehouse and the district that got it are in the key.
    History "history" {
        /// The customer's warehouse.
        customer_warehouse: u32,
        /// The customer's district.
        customer_district: u8,
        /// The customer.
        customer: u16,
        /// When.
        date: i64,
        /// Cents.
        amount: i64,
        /// Names of warehouse and district.
        data: Text<24>,
    }
}

row! {
    /// An order.
    Order "orders" {
        /// The customer.
        customer: u16,
        /// When.
        entered: i64,
        /// Carrier, 1 to 10; 0 where it is not delivered.
        carrier: u8,
        /// Lines.
        lines: u8,
        /// 1 where every line is supplied by the home warehouse.
        all_local: u8,
    }
}

row! {
    /// A line of an order.
    OrderLine "order_line" {
        /// Item.
        item: u32,
        /// Warehouse that supplies it.
        supply_warehouse: u32,
        /// When it was delivered; 0 where it is not.
        delivered: i64,
        /// Pieces.
        quantity: u8,
        /// Cents.
        amount: i64,
        /// The stock's text for the district.
        info: Text<24>,
    }
}

row! {
    /// An item.
    Item "item" {
        /// Cents.
        price: u32,
        /// Image.
        image: u32,
        /// Name.
        name: Text<24>,
        /// Brand; may hold `ORIGINAL`.
        data: Text<50>,
    }
}

row! {
    /// What a warehouse has of an item.
    Stock "stock" {
        /// Pieces.
        quantity: i32,
        /// Pieces sold in the year.
        ytd: i64,
        /// Orders.
        orders: u32,
        /// Orders of other warehouses.
        remote_orders: u32,
        /// Text for each district.
        info: [Text<24>; 10],
        /// Brand; may hold `ORIGINAL`.
        data: Text<50>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    #[test]
    fn a_row_survives_its_bytes_and_columns_can_be_changed_alone() {
        let stock = Stock {
            quantity: -3,
            ytd: 1 << 40,
            orders: 7,
            remote_orders: 8,
            info: std::array::from_fn(|at| Text::of(format!("district {at}").as_bytes())),
            data: Text::of(b"an ORIGINAL thing"),
        };
        let mut bytes = [0xee; Stock::SIZE + 1];
        stock.encode(&mut bytes);
        assert_eq!(bytes[Stock::SIZE], 0xee);
        assert_eq!(Stock::decode(&bytes), stock);
        Stock::orders.set(&mut bytes, &70);
        assert_eq!(Stock::decode(&bytes), Stock { orders: 70, ..stock.clone() });
        assert_eq!(Stock::info.item(9).get(&bytes), stock.info[9]);
        assert!(Stock::whole(&bytes).is_err());
    }
}
