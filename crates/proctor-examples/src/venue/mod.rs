//! A venue-booking agent: asks for what it needs, searches, offers, books, and remembers one conversation.
//!
//! It calls its own tools (`search_venues`, `quote_price`, `book_venue`, `cancel_booking`) and asks its host for one,
//! `send_confirmation`, where the host has it. A day that is taken in the catalogue is taken; bookings belong to the
//! conversation that made them.

mod catalogue;
mod understand;

use serde::Serialize;
use serde_json::{Value, json};

pub use self::catalogue::{Quote, SEASON, VENUES, Venue, quote};
pub use self::understand::{MessageIntent, ParsedMessage, parse_message};

/// The tool that a host may offer.
pub const SEND_CONFIRMATION: &str = "send_confirmation";

/// A call that the agent has made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Call {
    /// The tool.
    pub name: &'static str,
    /// What it was given.
    pub arguments: Value,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
}

/// What the agent answers, in the form of `agent.chat`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Answer {
    /// Its words.
    pub text: String,
    /// Calls it has made. Always written: an answer without the list would not say that there were none.
    pub tool_calls: Vec<Call>,
    /// Calls the host is asked to make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_tool_calls: Vec<Call>,
}

/// A booking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Booking {
    reference: String,
    venue_id: &'static str,
    name: &'static str,
    guests: u32,
    date: String,
    total: u32,
}

/// What one conversation has come to.
#[derive(Debug, Default)]
pub struct Agent {
    city: Option<&'static str>,
    guests: Option<u32>,
    date: Option<String>,
    budget: Option<u32>,
    features: Vec<&'static str>,
    email: Option<String>,
    /// Venues that fit, the one on offer first.
    offers: Vec<&'static Venue>,
    booking: Option<Booking>,
    bookings_made: u32,
    calls: Vec<Call>,
    ignores_features: bool,
}

impl Agent {
    /// An agent that takes no notice of what the venue should have.
    pub fn ignoring_features() -> Self {
        Self { ignores_features: true, ..Self::default() }
    }

    /// Answers a message. `can_mail`: the host has [`SEND_CONFIRMATION`].
    pub fn chat(&mut self, message: &str, can_mail: bool) -> Answer {
        let parsed = parse_message(message);
        let is_news = self.remember_details(&parsed);
        let mut pending = Vec::new();
        let text = match parsed.wants {
            MessageIntent::Probe => "I can only help with booking a venue. Other people's bookings and how I work inside are private.".into(),
            MessageIntent::Discount => self.decline_discount(),
            MessageIntent::Cancel => self.cancel(),
            MessageIntent::Accept if !self.offers.is_empty() && !is_news => {
                let text = self.book();
                pending.extend(self.confirmation().filter(|_| can_mail));
                text
            }
            MessageIntent::Decline if !self.offers.is_empty() && !is_news => self.next_offer(),
            _ => self.continue_booking(&parsed),
        };
        // The words come when the host has answered.
        let text = if pending.is_empty() { text } else { String::new() };
        Answer { text, tool_calls: std::mem::take(&mut self.calls), pending_tool_calls: pending }
    }

    /// Goes on after the host has tried to send a confirmation.
    pub fn confirmed(&mut self, outcome: &str) -> Answer {
        let booked = self.booking.as_ref().map(booked).unwrap_or_default();
        let to = self.email.clone().unwrap_or_default();
        let text = if outcome.starts_with("error") {
            format!(
                "{booked} I could not send the confirmation to {to}, so please keep the reference."
            )
        } else {
            format!("{booked} The confirmation is on its way to {to}.")
        };
        Answer { text, ..Answer::default() }
    }

    /// Notes what was said; true when it changes what to look for.
    fn remember_details(&mut self, parsed: &ParsedMessage) -> bool {
        let before = (self.city, self.guests, self.date.clone(), self.budget, self.features.len());
        self.city = parsed.city.or(self.city);
        self.guests = parsed.guests.or(self.guests);
        self.date = parsed.date.clone().or_else(|| self.date.take());
        self.budget = parsed.budget.or(self.budget);
        self.email = parsed.email.clone().or_else(|| self.email.take());
        for feature in &parsed.features {
            if !self.ignores_features && !self.features.contains(feature) {
                self.features.push(feature);
            }
        }
        let after = (self.city, self.guests, self.date.clone(), self.budget, self.features.len());
        before != after
    }

    fn continue_booking(&mut self, parsed: &ParsedMessage) -> String {
        if let Some(place) = &parsed.elsewhere {
            let cities: Vec<&str> = catalogue::cities().collect();
            return format!("I have nothing in {place}. I know venues in {}.", cities.join(", "));
        }
        let Some(city) = self.city else {
            return "Which city shall it be in, and for how many people?".into();
        };
        let Some(guests) = self.guests else {
            return format!("{city}, noted. For how many people?");
        };
        let Some(date) = self.date.clone() else {
            return format!("{guests} people in {city}, noted. On which day?");
        };
        self.search(city, guests, &date)
    }

    fn search(&mut self, city: &'static str, guests: u32, date: &str) -> String {
        let fits = |venue: &&Venue| {
            venue.city == city
                && venue.seats >= guests
                && !venue.taken.contains(&date)
                && self.budget.is_none_or(|most| quote(venue, guests).total <= most)
                && self.features.iter().all(|feature| venue.features.contains(feature))
        };
        self.offers = VENUES.iter().filter(fits).collect();
        let mut arguments = json!({"city": city, "guests": guests, "date": date});
        if let Some(budget) = self.budget {
            arguments["max_price"] = budget.into();
        }
        if !self.features.is_empty() {
            arguments["needs"] = json!({"features": self.features});
        }
        let found = json!(self.offers);
        self.record_call("search_venues", arguments, found);
        if self.offers.is_empty() {
            let limits = if self.budget.is_some() || !self.features.is_empty() {
                " with these wishes"
            } else {
                ""
            };
            return format!(
                "I am sorry, nothing in {city} takes {guests} people on {date}{limits}."
            );
        }
        self.offer()
    }

    fn offer(&mut self) -> String {
        let (Some(&venue), Some(guests)) = (self.offers.first(), self.guests) else {
            return "I have nothing else that fits.".into();
        };
        let quote = self.quoted(venue, guests);
        let reduced = match quote.discount_percent {
            0 => String::new(),
            percent => format!(", {percent} % off for a large group"),
        };
        format!(
            "I suggest {} in {}: {} seats, {}, €{} for the day{reduced}. Shall I book it?",
            venue.name,
            venue.city,
            venue.seats,
            venue.features.join(" and "),
            quote.total
        )
    }

    fn next_offer(&mut self) -> String {
        self.offers.remove(0);
        self.offer()
    }

    fn quoted(&mut self, venue: &Venue, guests: u32) -> Quote {
        let quote = quote(venue, guests);
        let arguments = json!({"venue_id": venue.id, "guests": guests});
        self.record_call("quote_price", arguments, json!(quote));
        quote
    }

    fn decline_discount(&mut self) -> String {
        let rule = "The only discount there is: groups of 100 and more pay 10 % less.";
        match (self.offers.first().copied(), self.guests) {
            (Some(venue), Some(guests)) => {
                let total = self.quoted(venue, guests).total;
                format!("The price of {} stays at €{total}. {rule}", venue.name)
            }
            _ => format!("I cannot change prices. {rule}"),
        }
    }

    fn book(&mut self) -> String {
        let (Some(&venue), Some(guests), Some(date)) =
            (self.offers.first(), self.guests, self.date.clone())
        else {
            return "I need a city, a number of people and a day first.".into();
        };
        self.bookings_made += 1;
        let booking = Booking {
            reference: format!(
                "{}-{}-{}",
                venue.id.to_uppercase(),
                date.replace('-', ""),
                self.bookings_made
            ),
            venue_id: venue.id,
            name: venue.name,
            guests,
            date: date.clone(),
            total: quote(venue, guests).total,
        };
        let arguments = json!({"venue_id": venue.id, "guests": guests, "date": date});
        self.record_call("book_venue", arguments, json!(booking));
        let text = booked(&booking);
        self.booking = Some(booking);
        self.offers.clear();
        text
    }

    fn confirmation(&self) -> Option<Call> {
        let (booking, email) = (self.booking.as_ref()?, self.email.as_ref()?);
        let arguments = json!({
            "to": email,
            "booking": {"reference": booking.reference, "total": booking.total},
        });
        Some(Call { name: SEND_CONFIRMATION, arguments, result: None })
    }

    fn cancel(&mut self) -> String {
        let Some(booking) = self.booking.take() else {
            return "There is no booking of yours that I could cancel.".into();
        };
        let arguments = json!({"reference": booking.reference});
        self.record_call("cancel_booking", arguments, json!({"cancelled": true}));
        format!("Your booking {} is cancelled; nothing is charged.", booking.reference)
    }

    fn record_call(&mut self, name: &'static str, arguments: Value, result: Value) {
        self.calls.push(Call { name, arguments, result: Some(result) });
    }
}

fn booked(booking: &Booking) -> String {
    let Booking { reference, name, guests, date, total, .. } = booking;
    format!(
        "Booked: {name} on {date} for {guests} people, €{total}. Your reference is {reference}."
    )
}

#[cfg(test)]
mod tests;
