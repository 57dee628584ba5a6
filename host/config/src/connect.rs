//! The keys of the section `connect`: how the page shows the application that asks for accounts.

use std::fs;
use std::path::{Path, PathBuf};

use super::declare::{Entry, settings};
use super::effective::List;
use super::kind::or_empty;
use super::section::Section;
use super::value::{self, string};

/// The largest logo. Every visit of the page loads it.
const MAX_LOGO_BYTES: usize = 64 << 10;

settings! {
    /// The application that asks users for their accounts.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Connect {
        /// Its name. `None`: the page says "an application".
        pub name: Option<String> = None => "name": or_empty(string());
        /// Its logo.
        pub logo: Option<Logo> = None => "logo": LogoFile;
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
    use crate::Config;

    fn read(logo: &[u8]) -> Result<&'static str, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logo");
        std::fs::write(&path, logo).unwrap();
        let text = format!("[connect]\nname = \"Example\"\nlogo = {:?}", path.display().to_string());
        let config = Config::of_text(&text).map_err(|error| error.to_string())?;
        assert_eq!(config.connect.name.as_deref(), Some("Example"));
        let logo = config.connect.logo.unwrap();
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
        assert!(Config::default().connect.logo.is_none());
    }
}
