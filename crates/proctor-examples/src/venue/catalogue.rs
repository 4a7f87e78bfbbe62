//! The venues there are, and the rules of their prices. Fixed data; bookings are kept by the desk.

use serde::Serialize;

/// The year in which everything takes place: the agent has no clock.
pub const SEASON: u32 = 2027;
/// From this many guests on a group pays less.
const LARGE_GROUP: u32 = 100;
const LARGE_GROUP_DISCOUNT: u32 = 10;

/// A venue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Venue {
    /// Its id.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Where it is.
    pub city: &'static str,
    /// How many guests it seats.
    pub seats: u32,
    /// What a day costs, in euros.
    pub price: u32,
    /// What it has.
    pub features: &'static [&'static str],
    /// Days on which it is already booked.
    #[serde(skip)]
    pub taken: &'static [&'static str],
}

/// All venues, the cheapest of each city first.
pub const VENUES: &[Venue] = &[
    Venue {
        id: "b1",
        name: "Spreespeicher",
        city: "Berlin",
        seats: 60,
        price: 900,
        features: &["projector", "river view"],
        taken: &["2027-12-11"],
    },
    Venue {
        id: "b2",
        name: "Kupferhof",
        city: "Berlin",
        seats: 80,
        price: 1200,
        features: &["projector", "kitchen", "step-free"],
        taken: &[],
    },
    Venue {
        id: "b3",
        name: "Alte Münze",
        city: "Berlin",
        seats: 200,
        price: 2600,
        features: &["stage", "kitchen", "step-free"],
        taken: &[],
    },
    Venue {
        id: "h1",
        name: "Kontorhaus",
        city: "Hamburg",
        seats: 90,
        price: 1100,
        features: &["projector", "step-free"],
        taken: &[],
    },
    Venue {
        id: "h2",
        name: "Fischauktionshalle",
        city: "Hamburg",
        seats: 400,
        price: 5200,
        features: &["stage", "river view"],
        taken: &["2027-06-05"],
    },
    Venue {
        id: "m1",
        name: "Isarpost",
        city: "Munich",
        seats: 150,
        price: 2900,
        features: &["stage", "garden", "step-free"],
        taken: &[],
    },
    Venue {
        id: "v1",
        name: "Palais Eschenbach",
        city: "Vienna",
        seats: 120,
        price: 2400,
        features: &["stage", "garden"],
        taken: &[],
    },
];

/// Things to ask for, with the words that mean them.
pub(super) const FEATURES: &[(&str, &[&str])] = &[
    ("projector", &["projector", "beamer"]),
    ("kitchen", &["kitchen", "catering"]),
    ("garden", &["garden", "outdoor"]),
    ("stage", &["stage"]),
    ("river view", &["river"]),
    ("step-free", &["step-free", "wheelchair", "accessible"]),
];

/// The cities in which there are venues.
pub(super) fn cities() -> impl Iterator<Item = &'static str> {
    let mut cities: Vec<&str> = VENUES.iter().map(|venue| venue.city).collect();
    cities.dedup();
    cities.into_iter()
}

/// What a day costs for so many guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Quote {
    /// The venue.
    pub venue_id: &'static str,
    /// The list price, in euros.
    pub list_price: u32,
    /// The discount, in percent.
    pub discount_percent: u32,
    /// What is to be paid, in euros.
    pub total: u32,
}

/// The price, by the only rule there is.
pub fn quote(venue: &Venue, guests: u32) -> Quote {
    let discount = if guests >= LARGE_GROUP { LARGE_GROUP_DISCOUNT } else { 0 };
    Quote {
        venue_id: venue.id,
        list_price: venue.price,
        discount_percent: discount,
        total: venue.price * (100 - discount) / 100,
    }
}
