//! A value in memory, as the canonical ABI of components stores it.
//!
//! A value is JSON, as serde writes the types that bindings have for the contract. Names of the
//! contract and of bindings differ in the case of their letters and in hyphens.

use serde_json::Value;
use wit_parser::{Int, Resolve, SizeAlign, Type, TypeDefKind};

use super::{ComponentError, misfit};

/// The address of the first value. A pointer to a value is never 0.
pub(super) const BASE: i32 = 16;

pub(super) struct Layout<'a> {
    contract: &'a Resolve,
    sizes: SizeAlign,
    bytes: Vec<u8>,
}

/// A case of a variant, an enumeration or an option, with its value.
struct Chosen<'a> {
    tag: Int,
    index: usize,
    payload: Option<(Type, &'a Value)>,
    /// The types of all cases.
    cases: Vec<Option<Type>>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(contract: &'a Resolve) -> Self {
        let mut sizes = SizeAlign::default();
        sizes.fill(contract);
        Self { contract, sizes, bytes: Vec::new() }
    }

    pub(super) fn into_bytes(self) -> Result<Vec<u8>, ComponentError> {
        address(self.bytes.len())?;
        Ok(self.bytes)
    }

    /// Stores a value. Returns its address.
    pub(super) fn value(&mut self, ty: &Type, value: &Value) -> Result<i32, ComponentError> {
        let at = self.reserve(self.size(ty), self.align(ty));
        self.store(ty, value, at)?;
        address(at)
    }

    /// Stores values one after the other, as the members of a record. Returns their address.
    pub(super) fn values(&mut self, types: &[Type], values: &[Value]) -> Result<i32, ComponentError> {
        let whole = self.sizes.record(types);
        let at = self.reserve(whole.size.size_wasm32(), whole.align.align_wasm32());
        self.store_members(types, values.iter(), at)?;
        address(at)
    }

    /// The values as arguments of a function. All types of declarations are integers of 32 bits and
    /// pointers then.
    pub(super) fn flat(&mut self, types: &[Type], values: &[Value]) -> Result<Vec<i32>, ComponentError> {
        let mut arguments = Vec::new();
        for (ty, value) in types.iter().zip(values) {
            self.push_flat(ty, value, &mut arguments)?;
        }
        Ok(arguments)
    }

    fn size(&self, ty: &Type) -> usize {
        self.sizes.size(ty).size_wasm32()
    }

    fn align(&self, ty: &Type) -> usize {
        self.sizes.align(ty).align_wasm32()
    }

    /// Space in memory, filled with zeros.
    fn reserve(&mut self, size: usize, align: usize) -> usize {
        let at = self.bytes.len().next_multiple_of(align.max(1));
        self.bytes.resize(at + size, 0);
        at
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn put_pair(&mut self, at: usize, pair: [i32; 2]) {
        for (offset, number) in [0, 4].into_iter().zip(pair) {
            self.put(at + offset, &number.to_le_bytes());
        }
    }

    fn store(&mut self, ty: &Type, value: &Value, at: usize) -> Result<(), ComponentError> {
        match ty {
            Type::Bool => self.put(at, &[u8::from(boolean(value)?)]),
            Type::U16 => {
                let number = u16::try_from(number(value)?).map_err(|_| misfit("16 bits", value))?;
                self.put(at, &number.to_le_bytes());
            }
            Type::U32 => self.put(at, &number(value)?.to_le_bytes()),
            Type::String => {
                let pair = self.text(value)?;
                self.put_pair(at, pair);
            }
            Type::Id(id) => return self.store_defined(&self.contract.types[*id].kind, value, at),
            other => return Err(misfit(&format!("{other:?}"), value)),
        }
        Ok(())
    }

    fn store_defined(&mut self, kind: &'a TypeDefKind, value: &Value, at: usize) -> Result<(), ComponentError> {
        match kind {
            TypeDefKind::Type(ty) => self.store(ty, value, at),
            TypeDefKind::Record(record) => {
                let types: Vec<Type> = record.fields.iter().map(|field| field.ty).collect();
                let values: Vec<&Value> =
                    record.fields.iter().map(|field| member(value, &field.name)).collect::<Result<_, _>>()?;
                self.store_members(&types, values.into_iter(), at)
            }
            TypeDefKind::Tuple(tuple) => {
                let values = value.as_array().filter(|values| values.len() == tuple.types.len());
                let values = values.ok_or_else(|| misfit("a tuple", value))?;
                self.store_members(&tuple.types, values.iter(), at)
            }
            TypeDefKind::List(item) => {
                let pair = self.list(item, value)?;
                self.put_pair(at, pair);
                Ok(())
            }
            kind => {
                let Chosen { tag, index, payload, cases } = chosen(kind, value)?;
                match tag {
                    Int::U8 => self.put(at, &[u8::try_from(index).unwrap_or_default()]),
                    _ => return Err(misfit("at most 256 cases", value)),
                }
                let Some((ty, value)) = payload else { return Ok(()) };
                let offset = self.sizes.payload_offset(tag, cases.iter().map(Option::as_ref)).size_wasm32();
                self.store(&ty, value, at + offset)
            }
        }
    }

    fn store_members<'v>(
        &mut self,
        types: &[Type],
        values: impl Iterator<Item = &'v Value>,
        at: usize,
    ) -> Result<(), ComponentError> {
        let offsets: Vec<usize> =
            self.sizes.field_offsets(types).into_iter().map(|(offset, _)| offset.size_wasm32()).collect();
        for ((ty, offset), value) in types.iter().zip(offsets).zip(values) {
            self.store(ty, value, at + offset)?;
        }
        Ok(())
    }

    /// Address and length of a text.
    fn text(&mut self, value: &Value) -> Result<[i32; 2], ComponentError> {
        let text = value.as_str().ok_or_else(|| misfit("a text", value))?;
        let at = self.reserve(text.len(), 1);
        self.put(at, text.as_bytes());
        Ok([address(at)?, length(text.len())?])
    }

    /// Address and length of a list.
    fn list(&mut self, item: &Type, value: &Value) -> Result<[i32; 2], ComponentError> {
        let items = value.as_array().ok_or_else(|| misfit("a list", value))?;
        let size = self.size(item);
        let at = self.reserve(size * items.len(), self.align(item));
        for (index, value) in items.iter().enumerate() {
            self.store(item, value, at + index * size)?;
        }
        Ok([address(at)?, length(items.len())?])
    }

    fn push_flat(&mut self, ty: &Type, value: &Value, out: &mut Vec<i32>) -> Result<(), ComponentError> {
        match ty {
            Type::Bool => out.push(i32::from(boolean(value)?)),
            Type::U32 => out.push(number(value)?.cast_signed()),
            Type::String => {
                let pair = self.text(value)?;
                out.extend(pair);
            }
            Type::Id(id) => return self.push_flat_defined(&self.contract.types[*id].kind, value, out),
            other => return Err(misfit(&format!("{other:?}"), value)),
        }
        Ok(())
    }

    fn push_flat_defined(
        &mut self,
        kind: &'a TypeDefKind,
        value: &Value,
        out: &mut Vec<i32>,
    ) -> Result<(), ComponentError> {
        match kind {
            TypeDefKind::Type(ty) => self.push_flat(ty, value, out),
            TypeDefKind::Record(record) => {
                record.fields.iter().try_for_each(|field| self.push_flat(&field.ty, member(value, &field.name)?, out))
            }
            TypeDefKind::List(item) => {
                let pair = self.list(item, value)?;
                out.extend(pair);
                Ok(())
            }
            kind => {
                let Chosen { index, payload, cases, .. } = chosen(kind, value)?;
                out.push(length(index)?);
                // The other cases may need more arguments.
                let widest = cases.iter().flatten().map(|ty| self.flat_length(ty)).max().unwrap_or_default();
                let end = out.len() + widest;
                if let Some((ty, value)) = payload {
                    self.push_flat(&ty, value, out)?;
                }
                out.resize(end, 0);
                Ok(())
            }
        }
    }

    /// The number of arguments of a type.
    fn flat_length(&self, ty: &Type) -> usize {
        let Type::Id(id) = ty else { return if matches!(ty, Type::String) { 2 } else { 1 } };
        match &self.contract.types[*id].kind {
            TypeDefKind::Type(ty) => self.flat_length(ty),
            TypeDefKind::List(_) => 2,
            TypeDefKind::Record(record) => record.fields.iter().map(|field| self.flat_length(&field.ty)).sum(),
            TypeDefKind::Option(ty) => 1 + self.flat_length(ty),
            TypeDefKind::Variant(variant) => {
                let cases = variant.cases.iter().filter_map(|case| case.ty.as_ref());
                1 + cases.map(|ty| self.flat_length(ty)).max().unwrap_or_default()
            }
            _ => 1,
        }
    }
}

/// The case of a value: null or something else for an option, a name, or an object of one member.
fn chosen<'v>(kind: &TypeDefKind, value: &'v Value) -> Result<Chosen<'v>, ComponentError> {
    if let TypeDefKind::Option(ty) = kind {
        let payload = (!value.is_null()).then_some((*ty, value));
        let index = usize::from(payload.is_some());
        return Ok(Chosen { tag: Int::U8, index, payload, cases: vec![None, Some(*ty)] });
    }
    let (name, inner) = match value {
        Value::String(name) => (name, None),
        Value::Object(members) => match members.iter().next() {
            Some((name, inner)) if members.len() == 1 => (name, Some(inner)),
            _ => return Err(misfit("a case", value)),
        },
        _ => return Err(misfit("a case", value)),
    };
    let (tag, cases): (Int, Vec<(&str, Option<Type>)>) = match kind {
        TypeDefKind::Variant(variant) => {
            (variant.tag(), variant.cases.iter().map(|case| (case.name.as_str(), case.ty)).collect())
        }
        TypeDefKind::Enum(found) => (found.tag(), found.cases.iter().map(|case| (case.name.as_str(), None)).collect()),
        other => return Err(misfit(other.as_str(), value)),
    };
    let found = cases.iter().position(|(known, _)| is_same(known, name));
    let index = found.ok_or_else(|| misfit("another case", value))?;
    let ty = cases.get(index).and_then(|(_, ty)| *ty);
    if ty.is_some() != inner.is_some() {
        return Err(misfit("the value of the case", value));
    }
    Ok(Chosen { tag, index, payload: ty.zip(inner), cases: cases.into_iter().map(|(_, ty)| ty).collect() })
}

fn member<'v>(value: &'v Value, name: &str) -> Result<&'v Value, ComponentError> {
    let members = value.as_object().ok_or_else(|| misfit("a record", value))?;
    let found = members.iter().find(|(known, _)| is_same(known, name));
    found.map(|(_, value)| value).ok_or_else(|| misfit(&format!("the member `{name}`"), value))
}

/// Compares a name of bindings with a name of the contract.
fn is_same(left: &str, right: &str) -> bool {
    let letters = |name: &str| -> String {
        name.chars().filter(|letter| !matches!(letter, '-' | '_')).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    letters(left) == letters(right)
}

fn boolean(value: &Value) -> Result<bool, ComponentError> {
    value.as_bool().ok_or_else(|| misfit("a boolean", value))
}

fn number(value: &Value) -> Result<u32, ComponentError> {
    value.as_u64().and_then(|number| number.try_into().ok()).ok_or_else(|| misfit("a number", value))
}

/// The address of a value at this place of the data.
fn address(at: usize) -> Result<i32, ComponentError> {
    length(at)?.checked_add(BASE).ok_or(ComponentError::TooLarge)
}

fn length(length: usize) -> Result<i32, ComponentError> {
    i32::try_from(length).map_err(|_| ComponentError::TooLarge)
}
