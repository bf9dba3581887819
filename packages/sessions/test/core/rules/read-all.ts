import type { Page, PageRequest } from '@bowline/sessions'

/** Reads all pages. Calls `between` between two pages. */
export async function readAll<T>(
  read: (request: PageRequest) => Promise<Page<T>>,
  limit: number,
  between: () => Promise<unknown>,
): Promise<T[]> {
  const items: T[] = []
  let page: string | undefined
  do {
    const found: Page<T> = await read({ limit, ...(page === undefined ? {} : { page }) })
    items.push(...found.items)
    page = found.next
    if (page !== undefined) await between()
  } while (page !== undefined)
  return items
}
