/** Rows of one kind of a session. What is kept of a step beyond memory is told by the names of its tables. */
export class Table<K, V> extends Map<K, V> {
  readonly name: string

  constructor(name: string) {
    super()
    this.name = name
  }
}
