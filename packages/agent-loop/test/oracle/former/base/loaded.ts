export interface Diagnostic {
  readonly kind: 'tool' | 'guardrail' | 'skill' | 'file'
  readonly name: string
  readonly message: string
}

/** What was read from folders, what went wrong there, and a way to read them again. */
export interface Loaded<Item> extends ReadonlyArray<Item> {
  readonly diagnostics: readonly Diagnostic[]
  /** A new list: this one never changes. Must not reject. */
  reload(): Promise<Loaded<Item>>
}

/** Items, among them lists from folders; a list from folders alone is one too. */
export type LoadedList<Item> = readonly (Item | Loaded<Item>)[]

interface LoadedFacts<Item> {
  readonly items: readonly Item[]
  readonly diagnostics: readonly Diagnostic[]
  readonly reload: () => Promise<Loaded<Item>>
}

export function makeLoaded<Item>({ items, diagnostics, reload }: LoadedFacts<Item>): Loaded<Item> {
  return Object.freeze(Object.assign([...items], { diagnostics: Object.freeze([...diagnostics]), reload }))
}

/** By its shape, so that lists of another installed copy are known too. */
export function isLoaded<Item>(value: unknown): value is Loaded<Item> {
  return Array.isArray(value) && 'reload' in value && 'diagnostics' in value
}

interface OpenedList<Item> {
  /** All in their order. */
  readonly items: readonly Item[]
  readonly own: readonly Item[]
  readonly fromFolders: readonly Item[]
  readonly diagnostics: readonly Diagnostic[]
}

export function openLoaded<Item>(list: LoadedList<Item>): OpenedList<Item> {
  const lists = isLoaded<Item>(list) ? [list] : list.filter((item) => isLoaded<Item>(item))
  return {
    items: list.flatMap((item) => (isLoaded<Item>(item) ? [...item] : [item])),
    own: isLoaded<Item>(list) ? [] : list.filter((item): item is Item => !isLoaded<Item>(item)),
    fromFolders: lists.flatMap((loaded) => [...loaded]),
    diagnostics: lists.flatMap((loaded) => [...loaded.diagnostics]),
  }
}

/** The same list with everything from folders read again. */
export async function reloadLists<Item>(list: LoadedList<Item>): Promise<LoadedList<Item>> {
  if (isLoaded<Item>(list)) return list.reload()
  return Promise.all(list.map((item) => (isLoaded<Item>(item) ? item.reload() : item)))
}
