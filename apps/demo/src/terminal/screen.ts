import type { Writable } from 'node:stream'
import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

export type Output = Writable & { readonly isTTY?: boolean }

/** Text of a model or a tool without what a terminal would take for commands. */
function harmless(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, '')
}

/**
 * Where the terminal writes. On a terminal all of it is one picture. Into a pipe only answers go to stdout, each whole, and
 * everything else goes to stderr. Colours are for terminals without `NO_COLOR`.
 */
export class Screen {
  readonly isTerminal: boolean
  readonly #out: Output
  readonly #notes: Output
  /** Something stands on the present line. */
  #open = false
  /** What the present line shows can be written over. */
  #passing = false
  /** Shows the prompt at which a line is expected. */
  #prompt: (() => void) | undefined

  constructor(out: Output, notes: Output) {
    this.isTerminal = out.isTTY === true
    this.#out = out
    this.#notes = this.isTerminal ? out : notes
  }

  /** A piece of an answer as it comes. */
  delta(text: string, style?: Style): void {
    const shown = harmless(text)
    if (!this.isTerminal || shown === '') return
    this.dropPrompt()
    this.#settle()
    this.#out.write(style ? this.#styled(style, shown) : shown)
    this.#open = !shown.endsWith('\n')
  }

  /** The answer that was shown in pieces, once it is whole. */
  answer(text: string): void {
    if (!this.isTerminal && text !== '') this.tell(text)
  }

  /** Writes the result of a command. */
  tell(text: string): void {
    this.endLine()
    this.#out.write(`${harmless(text).trimEnd()}\n`)
  }

  /** A line about what happens. */
  note(text: string, style: Style = 'dim'): void {
    this.endLine()
    this.#notes.write(`${this.#styled(style, harmless(text))}\n`)
    this.#prompt?.()
  }

  /** A line that the next one takes the place of, where that is possible. */
  progress(text: string): void {
    if (!this.isTerminal) return this.note(text)
    this.dropPrompt()
    if (!this.#passing) this.endLine()
    this.#out.write(`\r\u001B[K${this.#styled('dim', harmless(text))}`)
    this.#passing = true
    this.#open = true
  }

  /** `show` has put the prompt on a line of its own. A note takes its place, and puts it below itself. */
  hasPrompt(show: () => void): void {
    this.#prompt = show
    this.#passing = true
    this.#open = true
  }

  /** A line was typed, or an answer begins: the prompt is not there any more. */
  dropPrompt(): void {
    this.#prompt = undefined
  }

  endLine(): void {
    this.#settle()
    if (this.#open) this.#out.write('\n')
    this.#open = false
  }

  #settle(): void {
    if (!this.#passing) return
    this.#out.write('\r\u001B[K')
    this.#passing = false
    this.#open = false
  }

  #styled(style: Style, text: string): string {
    return this.isTerminal ? styleText(style, text, { stream: this.#out }) : text
  }
}
