/** Something that an agent does without: an item whose name is taken, or a file that could not be read. `message` says why. */
export interface Diagnostic {
  readonly kind: 'tool' | 'guardrail' | 'skill' | 'file'
  readonly name: string
  readonly message: string
}

/** A list that was read from folders, with the problems found there. `reload` reads the folders again. */
export interface Loaded<Item> extends ReadonlyArray<Item> {
  readonly diagnostics: readonly Diagnostic[]
  /** Returns a new list; this list never changes. Must not reject. */
  reload(): Promise<Loaded<Item>>
}

/** A list of items that may contain lists from folders, or one list from folders. */
export type LoadedList<Item> = readonly (Item | Loaded<Item>)[]

interface LoadedFacts<Item> {
  readonly items: readonly Item[]
  readonly diagnostics: readonly Diagnostic[]
  readonly reload: () => Promise<Loaded<Item>>
}

export function makeLoaded<Item>({ items, diagnostics, reload }: LoadedFacts<Item>): Loaded<Item> {
  return Object.freeze(Object.assign([...items], { diagnostics: Object.freeze([...diagnostics]), reload }))
}

/** Recognises a loaded list by its shape, so that lists of another installed copy of this package count too. */
export function isLoaded<Item>(value: unknown): value is Loaded<Item> {
  return Array.isArray(value) && 'reload' in value && 'diagnostics' in value
}

interface OpenedList<Item> {
  /** All items in their order. */
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

/** Returns the same list with everything from folders read again. */
export async function reloadLists<Item>(list: LoadedList<Item>): Promise<LoadedList<Item>> {
  if (isLoaded<Item>(list)) return list.reload()
  return Promise.all(list.map((item) => (isLoaded<Item>(item) ? item.reload() : item)))
}
