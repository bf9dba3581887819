/** What arrives while nobody looks waits here, and is taken all at once. As many items can wait as calls are running. */
export class Arrivals<Item> {
  #items: Item[] = []
  #notify: (() => void) | undefined

  push(item: Item): void {
    this.#items.push(item)
    this.#notify?.()
  }

  /** All that is there; waits for the first when there is none. */
  async take(): Promise<readonly Item[]> {
    if (this.#items.length === 0) await new Promise<void>((resolve) => (this.#notify = resolve))
    this.#notify = undefined
    return this.#items.splice(0)
  }
}
