//! Prints a list, page by page.

use dripfeed_client::Pages;

use crate::exit::Failure;
use crate::output::{Column, Format, JsonList, RowList};

/// # Errors
/// When a page can't be read or printed; earlier pages are printed.
pub(super) async fn print_pages(mut pages: Pages<'_>, columns: &[Column], format: Format) -> Result<(), Failure> {
    match format {
        Format::Table => {
            let mut rows = RowList::under(columns);
            while let Some(page) = pages.next().await? {
                rows.print(&page)?;
            }
        }
        Format::Json => {
            let mut list = JsonList::default();
            while let Some(page) = pages.next().await? {
                list.print(&page)?;
            }
            list.end()?;
        }
    }
    Ok(())
}
