//! The macros behind the catalogue: one definition in, every derived thing out.

/// Defines nested objects whose unknown fields survive.
macro_rules! objects {
    ($(
        $(#[doc = $doc:literal])+
        $Name:ident { $( $(#[doc = $fdoc:literal])+ $field:ident : $ty:ty, )+ }
    )+) => { $(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Default, PartialEq, schemars::JsonSchema)]
        pub struct $Name {
            $( $(#[doc = $fdoc])+ pub $field: $ty, )+
            /// Fields of a newer writer, kept as they came.
            #[schemars(skip)]
            pub extra: Vec<(Box<str>, $crate::Json)>,
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                let mut sink = MapSink(&mut map);
                $( if self.$field.present() {
                    sink.field(json_name(stringify!($field)), &self.$field)?;
                } )+
                write_extra(&self.extra, &mut sink)?;
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
                let mut fields: RawFields<'_> =
                    serde_json::from_str(raw.get()).map_err(serde::de::Error::custom)?;
                Ok(Self {
                    $( $field: fields
                        .take(json_name(stringify!($field)))
                        .map_err(serde::de::Error::custom)?, )+
                    extra: fields.into_extra(),
                })
            }
        }

        required_fields!($Name; by |scanner| scanner.parsed());

        impl $crate::texts::Texts for $Name {
            fn change_texts(&mut self, change: &mut $crate::TextChange<'_>) {
                $( self.$field.change_texts(change); )+
                self.extra.change_texts(change);
            }
        }
    )+ };
}

/// Defines every event: its struct, its place in [`Body`](crate::Body), its name, its JSON, its
/// schema and its observer hook.
macro_rules! events {
    ($(
        $(#[doc = $doc:literal])+
        $hook:ident => $Name:ident { $( $(#[doc = $fdoc:literal])+ $field:ident : $ty:ty, )* }
    )+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, Default, PartialEq, schemars::JsonSchema)]
            pub struct $Name { $( $(#[doc = $fdoc])+ pub $field: $ty, )* }

            impl From<$Name> for Body {
                fn from(payload: $Name) -> Self {
                    Self::$Name(payload)
                }
            }

            impl From<$Name> for $crate::Event {
                fn from(payload: $Name) -> Self {
                    $crate::Event::new(payload)
                }
            }
        )+

        /// What happened: the payload of an [`Event`](crate::Event).
        #[derive(Debug, Clone, PartialEq)]
        pub enum Body {
            $( $(#[doc = $doc])+ $Name($Name), )+
            /// An event of a newer writer.
            Unknown($crate::UnknownEvent),
        }

        /// The kinds of event this version knows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum EventType { $( $(#[doc = $doc])+ $Name, )+ }

        impl EventType {
            /// Every kind, in the order of the catalogue.
            pub const ALL: &'static [Self] = &[$(Self::$Name),+];

            /// The name on the wire.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$Name => stringify!($Name), )+ }
            }

            /// The kind with this name on the wire.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $( stringify!($Name) => Some(Self::$Name), )+
                    _ => None,
                }
            }

            /// The name of the observer hook, as in `on_user_message`.
            pub const fn hook(self) -> &'static str {
                match self { $( Self::$Name => stringify!($hook), )+ }
            }

            pub(crate) fn payload_schema(
                self,
                generator: &mut schemars::SchemaGenerator,
            ) -> schemars::Schema {
                match self { $( Self::$Name => <$Name as schemars::JsonSchema>::json_schema(generator), )+ }
            }

            pub(crate) fn read(self, fields: &mut RawFields<'_>) -> Result<Body, FieldError> {
                match self { $(
                    Self::$Name => Ok(Body::$Name($Name {
                        $( $field: fields.take(json_name(stringify!($field)))?, )*
                    })),
                )+ }
            }
        }

        impl EventType {
            /// Reads the payload where it stands in the [written form](crate::written_form).
            pub(crate) fn scan(self, fields: &mut ScannedFields<'_, '_>) -> Option<Body> {
                match self { $(
                    Self::$Name => Some(Body::$Name($Name {
                        $( $field: fields.take(json_name(stringify!($field)))?, )*
                    })),
                )+ }
            }
        }

        impl Body {
            /// The kind of event; `None` for one this version does not know.
            pub fn event_type(&self) -> Option<EventType> {
                match self {
                    $( Self::$Name(_) => Some(EventType::$Name), )+
                    Self::Unknown(_) => None,
                }
            }

            /// Changes every free text: what people, agents and tools wrote. Names of fields, numbers and
            /// the words of the format stay.
            pub fn change_texts(&mut self, change: &mut $crate::TextChange<'_>) {
                match self {
                    $( Self::$Name(payload) => {
                        let $Name { $($field),* } = payload;
                        $( $field.change_texts(change); )*
                        let _ = change;
                    } )+
                    Self::Unknown(_) => {}
                }
            }

            pub(crate) fn write_fields<S: FieldSink>(&self, sink: &mut S) -> Result<(), S::Error> {
                match self {
                    $( Self::$Name(payload) => {
                        let $Name { $($field),* } = payload;
                        $( if $field.present() {
                            sink.field(json_name(stringify!($field)), $field)?;
                        } )*
                        Ok(())
                    } )+
                    Self::Unknown(_) => Ok(()),
                }
            }
        }

        /// An observer of a run: one optional hook per kind of event.
        ///
        /// Hooks run on a thread of their own, one at a time, in the order of `seq`. A hook that
        /// fails or panics is counted and reported once; it never reaches the publisher.
        pub trait Observer: Send {
            $(
                $(#[doc = $doc])+
                fn $hook(&mut self, event: &$crate::Event, payload: &$Name) -> Result<(), $crate::BoxedError> {
                    let _ = (event, payload);
                    Ok(())
                }
            )+

            /// An event of a newer writer.
            fn on_unknown(
                &mut self,
                event: &$crate::Event,
                payload: &$crate::UnknownEvent,
            ) -> Result<(), $crate::BoxedError> {
                let _ = (event, payload);
                Ok(())
            }

            /// Every event, before its own hook.
            fn on_event(&mut self, event: &$crate::Event) -> Result<(), $crate::BoxedError> {
                let _ = event;
                Ok(())
            }

            /// The stream has ended.
            fn on_close(&mut self) {}

            /// Calls the hooks for one event.
            fn dispatch(&mut self, event: &$crate::Event) -> Result<(), $crate::BoxedError> {
                self.on_event(event)?;
                match &event.body {
                    $( Body::$Name(payload) => self.$hook(event, payload), )+
                    Body::Unknown(payload) => self.on_unknown(event, payload),
                }
            }
        }
    };
}

pub(crate) use {events, objects};
