//! The `json` interface: documents that stay in the gateway.

use bytes::Bytes;
use wasmtime::component::Resource;

use super::bindings::gateway::connector::json::{Host, HostDocument, Kind};
use super::document::{Child, Document, SHORTEST_NAME};
use super::guest::Guest;

impl Host for Guest {}

impl HostDocument for Guest {
    async fn parse(&mut self, text: String) -> wasmtime::Result<Result<Resource<Document>, String>> {
        let bytes = text.len();
        let parse = |guest: &mut Guest| {
            let held = guest.host_memory.hold(text.capacity())?;
            match Document::parse(held.tie(text.into())) {
                Ok(document) => Ok(Ok(guest.table.push(document)?)),
                Err(error) => Ok(Err(error.to_string())),
            }
        };
        self.compute(bytes, parse).await
    }

    async fn pointer(
        &mut self,
        document: Resource<Document>,
        pointer: String,
    ) -> wasmtime::Result<Option<Resource<Document>>> {
        let bytes = self.table.get(&document)?.searched(&pointer, &mut self.host_memory)?;
        let find = |guest: &mut Guest| {
            let end = guest.call.cpu.end();
            let found = guest.table.get(&document)?.pointer(&pointer, &mut guest.host_memory, end)?;
            Ok(found.map(|found| guest.table.push(found)).transpose()?)
        };
        self.compute(bytes, find).await
    }

    fn kind(&mut self, document: Resource<Document>) -> wasmtime::Result<Kind> {
        Ok(self.table.get(&document)?.kind())
    }

    async fn length(&mut self, document: Resource<Document>) -> wasmtime::Result<u32> {
        let bytes = self.table.get(&document)?.unread();
        self.compute(bytes, |guest| Ok(u32::try_from(guest.children(&document)?.len())?)).await
    }

    async fn keys(&mut self, document: Resource<Document>) -> wasmtime::Result<Vec<String>> {
        let bytes = self.table.get(&document)?.text.len();
        let copy = |guest: &mut Guest| {
            let children = guest.table.get(&document)?.children(&mut guest.host_memory)?;
            let size = |name: &String| name.len().max(SHORTEST_NAME) + size_of::<String>();
            guest.host_memory.admit(children.iter().filter_map(|child| child.name.as_ref()).map(size).sum())?;
            Ok(children.iter().filter_map(|child| child.name.clone()).collect())
        };
        self.compute(bytes, copy).await
    }

    async fn item(&mut self, document: Resource<Document>, index: u32) -> wasmtime::Result<Option<Resource<Document>>> {
        let bytes = self.table.get(&document)?.unread();
        let find = |guest: &mut Guest| {
            let found = guest.children(&document)?.get(index as usize).map(Document::of_child);
            Ok(found.map(|found| guest.table.push(found)).transpose()?)
        };
        self.compute(bytes, find).await
    }

    async fn text(&mut self, document: Resource<Document>) -> wasmtime::Result<String> {
        let bytes = self.table.get(&document)?.text.len();
        self.compute(bytes, |guest| Ok(String::from_utf8(guest.copied(&document)?.to_vec())?)).await
    }

    async fn as_string(&mut self, document: Resource<Document>) -> wasmtime::Result<Option<String>> {
        let bytes = self.table.get(&document)?.text.len();
        self.compute(bytes, |guest| Ok(guest.table.get(&document)?.as_string(&guest.host_memory)?)).await
    }

    fn drop(&mut self, document: Resource<Document>) -> wasmtime::Result<()> {
        self.table.delete(document)?;
        Ok(())
    }
}

impl Guest {
    fn children(&mut self, document: &Resource<Document>) -> wasmtime::Result<&[Child]> {
        Ok(self.table.get(document)?.children(&mut self.host_memory)?)
    }

    /// The text of a document, which is about to be copied.
    fn copied(&self, document: &Resource<Document>) -> wasmtime::Result<&Bytes> {
        let text = &self.table.get(document)?.text;
        self.host_memory.admit(text.len())?;
        Ok(text)
    }
}
