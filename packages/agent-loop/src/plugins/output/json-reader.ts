import type { JSONValue } from '@bowline/llm'
import type { OutputChange } from '../../events/output.ts'

/** An object or list that is open. `key` is the key of the value that is being read. */
interface Level {
  readonly isList: boolean
  key: string | number
}

type State = 'seek' | 'value' | 'key' | 'colon' | 'comma' | 'string' | 'name' | 'word' | 'over'

const maxDepth = 64
const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/**
 * Reads an object while it is written, and returns what each piece of text changes in it. No character is read twice. Text before
 * the first brace and after the last is skipped; after the first fault, all text is skipped.
 */
export class JsonReader {
  readonly #levels: Level[] = []
  #state: State = 'seek'
  /** The part of a name or word that has been read; for a text, the part that has not been reported. */
  #text = ''
  /** True if a part of the text was reported: the next part is appended to it. */
  #isTold = false
  /** An escape that is not complete. */
  #escape = ''
  #changes: OutputChange[] = []

  push(text: string): readonly OutputChange[] {
    for (let place = 0; place < text.length && this.#state !== 'over';) place = this.#read(text, place)
    if (this.#state === 'string') this.#tell()
    const changes = this.#changes
    this.#changes = []
    return changes
  }

  /** Reads on from a place. Returns the next place. */
  #read(text: string, place: number): number {
    const char = text[place] as string
    if (this.#state === 'string' || this.#state === 'name') return this.#readText(text, place)
    if (this.#state === 'word' && !/[-+.\w]/.test(char)) this.#endWord()
    if (this.#state === 'word') this.#text += char
    else if (this.#state === 'seek') this.#seek(char)
    else if (!/\s/.test(char)) this.#step(char)
    return place + 1
  }

  #seek(char: string): void {
    if (char === '{') this.#open(false)
  }

  /** Reads one character of the structure. */
  #step(char: string): void {
    const level = this.#levels.at(-1)
    switch (this.#state) {
      case 'key':
        if (char === '"') return this.#begin('name')
        return char === '}' ? this.#close(false) : this.#fail()
      case 'colon':
        return char === ':' ? void (this.#state = 'value') : this.#fail()
      case 'comma':
        if (char === ',' && level) {
          if (typeof level.key === 'number') level.key++
          this.#state = level.isList ? 'value' : 'key'
          return undefined
        }
        return char === '}' || char === ']' ? this.#close(char === ']') : this.#fail()
      case 'value':
        return this.#value(char)
      default:
        return undefined
    }
  }

  #value(char: string): void {
    if (char === '"') return this.#begin('string')
    if (char === '{' || char === '[') return this.#open(char === '[')
    if (char === ']') return this.#close(true)
    this.#begin('word')
    this.#text = char
  }

  #begin(state: 'string' | 'name' | 'word'): void {
    this.#state = state
    this.#text = ''
    this.#isTold = false
  }

  #open(isList: boolean): void {
    if (this.#levels.length >= maxDepth) return this.#fail()
    this.#set(isList ? [] : {})
    this.#levels.push({ isList, key: isList ? 0 : '' })
    this.#state = isList ? 'value' : 'key'
  }

  #close(isList: boolean): void {
    if (this.#levels.pop()?.isList !== isList) return this.#fail()
    this.#state = this.#levels.length === 0 ? 'over' : 'comma'
  }

  /** Reads the characters of a text or name, as many as there are at once. */
  #readText(text: string, place: number): number {
    if (this.#escape !== '') return this.#readEscape(text, place)
    let end = place
    while (end < text.length && text[end] !== '"' && text[end] !== '\\') end++
    this.#text += text.slice(place, end)
    if (end === text.length) return end
    if (text[end] === '\\') this.#escape = '\\'
    else if (this.#state === 'name') this.#endName()
    else this.#endText()
    return end + 1
  }

  #readEscape(text: string, place: number): number {
    this.#escape += text[place]
    const kind = this.#escape[1] as string
    if (kind === 'u' && this.#escape.length < 6) return place + 1
    this.#text += kind === 'u' ? String.fromCharCode(Number.parseInt(this.#escape.slice(2), 16)) : (escapes[kind] ?? kind)
    this.#escape = ''
    return place + 1
  }

  #endName(): void {
    const level = this.#levels.at(-1)
    if (level) level.key = this.#text
    this.#state = 'colon'
  }

  #endText(): void {
    this.#tell()
    this.#state = 'comma'
  }

  /** Reports the text that was read since the last report. */
  #tell(): void {
    if (!this.#isTold) this.#set(this.#text)
    else if (this.#text !== '') this.#changes.push({ path: this.#path(), append: this.#text })
    this.#isTold = true
    this.#text = ''
  }

  #endWord(): void {
    try {
      this.#set(JSON.parse(this.#text) as JSONValue)
      this.#state = 'comma'
    } catch {
      this.#fail()
    }
  }

  #set(value: JSONValue): void {
    this.#changes.push({ path: this.#path(), value })
  }

  #path(): readonly (string | number)[] {
    return this.#levels.map(({ key }) => key)
  }

  #fail(): void {
    this.#state = 'over'
  }
}
