//! The keys of the section `connect`: how the page shows the application that asks for accounts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::declare::{Entry, Settings, settings};
use super::kind::or_empty;
use super::list::List;
use super::section::Section;
use super::value::{self, string};

/// The largest logo. Every visit of the page loads it.
const MAX_LOGO_BYTES: usize = 64 << 10;

/// The applications that ask users for their accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connect {
    /// The application of every tenant that has no other one.
    pub application: Application,
    /// The applications of single tenants.
    pub tenants: BTreeMap<String, Application>,
}

settings! {
    /// An application that asks users for their accounts.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Application {
        /// Its name. `None`: the page says "an application".
        pub name: Option<String> = None => "name": or_empty(string());
        /// Its logo.
        pub logo: Option<Logo> = None => "logo": LogoFile;
    }
}

impl Connect {
    /// The application of a tenant. A tenant that has one gets no part of the general one, because
    /// users would see the name of one application with the logo of another.
    pub fn application_of(&self, tenant: &str) -> &Application {
        self.tenants.get(tenant).unwrap_or(&self.application)
    }
}

impl Settings for Connect {
    fn read(&mut self, section: &mut Section<'_>) {
        self.application.read(section);
        Tenants.read(section, "tenants", &mut self.tenants);
    }

    fn show(&self, list: &mut List) {
        self.application.show(list);
        Tenants.show(list, "tenants", &self.tenants);
    }
}

/// The sections of single tenants.
struct Tenants;

impl Entry<BTreeMap<String, Application>> for Tenants {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut BTreeMap<String, Application>) {
        section.each(key, |tenant, sections| {
            sections.section(tenant, |section| {
                let mut application = Application::default();
                application.read(section);
                // In the example, both keys are empty.
                if application != Application::default() {
                    target.insert(tenant.to_owned(), application);
                }
            });
        });
    }

    fn show(&self, list: &mut List, key: &'static str, tenants: &BTreeMap<String, Application>) {
        list.section(key, |list| {
            for (tenant, application) in tenants {
                list.section(tenant, |list| application.show(list));
            }
        });
    }
}

/// A logo, which is read at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logo {
    /// The file.
    pub path: PathBuf,
    /// The media type that its content shows.
    pub media_type: &'static str,
    /// The content.
    pub image: Vec<u8>,
}

/// The name of the file with the logo. Empty for no logo.
struct LogoFile;

impl Entry<Option<Logo>> for LogoFile {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut Option<Logo>) {
        let mut path = None;
        value::optional_path().read(section, key, &mut path);
        let Some(path) = path else { return };
        match read_logo(&path) {
            Ok(logo) => *target = Some(logo),
            Err(reason) => section.problem(key, format!("names `{}`, which {reason}", path.display())),
        }
    }

    fn show(&self, list: &mut List, key: &'static str, logo: &Option<Logo>) {
        list.add(key, logo.as_ref().map(|logo| logo.path.display().to_string()));
    }
}

fn read_logo(path: &Path) -> Result<Logo, String> {
    let image = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    if image.len() > MAX_LOGO_BYTES {
        return Err(format!("is larger than {} KiB", MAX_LOGO_BYTES >> 10));
    }
    let media_type = media_type_of(&image).ok_or("is neither an SVG image nor a PNG image")?;
    Ok(Logo { path: path.to_owned(), media_type, image })
}

/// The media type of an image. As an image, an SVG runs no script.
fn media_type_of(image: &[u8]) -> Option<&'static str> {
    if image.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some("image/png");
    }
    let text = std::str::from_utf8(image).ok()?.trim_start();
    (text.starts_with("<svg") || text.starts_with("<?xml") && text.contains("<svg")).then_some("image/svg+xml")
}

#[cfg(test)]
mod tests {
    use crate::{Config, effective};

    fn read(logo: &[u8]) -> Result<&'static str, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logo");
        std::fs::write(&path, logo).unwrap();
        let text = format!("[connect]\nname = \"Example\"\nlogo = {:?}", path.display().to_string());
        let config = Config::of_text(&text).map_err(|error| error.to_string())?;
        assert_eq!(config.connect.application.name.as_deref(), Some("Example"));
        let logo = config.connect.application.logo.unwrap();
        assert_eq!(logo.path, path);
        Ok(logo.media_type)
    }

    #[test]
    fn a_logo_is_a_small_svg_or_png_image() {
        assert_eq!(read(b"<svg xmlns='http://www.w3.org/2000/svg'/>").unwrap(), "image/svg+xml");
        assert_eq!(read(b"\x89PNG\r\n\x1a\nrest").unwrap(), "image/png");
        for (logo, reason) in [(&b"GIF89a"[..], "neither an SVG"), (b"", "neither an SVG"), (&[b'<'; 70_000], "64 KiB")]
        {
            let error = read(logo).unwrap_err();
            assert!(error.contains("connect.logo") && error.contains(reason), "{error}");
        }
        let error = Config::of_text("[connect]\nlogo = \"/none.svg\"").err().unwrap().to_string();
        assert!(error.contains("cannot be read"), "{error}");
        assert!(Config::default().connect.application.logo.is_none());
    }

    #[test]
    fn a_tenant_has_its_own_application_or_the_general_one() {
        let folder = tempfile::tempdir().unwrap();
        let logo = folder.path().join("logo.svg");
        std::fs::write(&logo, "<svg/>").unwrap();
        let logo = logo.display().to_string();
        let text = format!(
            "[connect]\nname = \"Planner\"\nlogo = {logo:?}\n[connect.tenants.acme]\nname = \"Acme\"\n\
             [connect.tenants.\"globex.example\"]\nlogo = {logo:?}\n[connect.tenants.empty]\nname = \"\""
        );
        let config = Config::of_text(&text).unwrap();
        let shown = |tenant| {
            let application = config.connect.application_of(tenant);
            (application.name.as_deref(), application.logo.is_some())
        };
        assert_eq!(shown("acme"), (Some("Acme"), false));
        assert_eq!(shown("globex.example"), (None, true));
        for tenant in ["empty", "default"] {
            assert_eq!(shown(tenant), (Some("Planner"), true), "{tenant}");
        }
        let listed = effective(&config);
        let of_acme = listed.iter().find(|one| one.section == "connect.tenants.acme" && one.key == "name").unwrap();
        assert!(of_acme.changed && of_acme.value == "Acme");
        let error =
            Config::of_text("[connect.tenants.acme]\nlogo = \"/none.svg\"\nlogos = 1").err().unwrap().to_string();
        assert!(error.contains("connect.tenants.acme.logo") && error.contains("cannot be read"), "{error}");
        assert!(error.contains("the nearest key is `connect.tenants.acme.logo`"), "{error}");
    }
}
