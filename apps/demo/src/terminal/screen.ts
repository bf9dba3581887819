import type { Writable } from 'node:stream'
import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

export type Output = Writable & { readonly isTTY?: boolean }

/** Removes characters that a terminal would interpret as commands from the text of a model or tool. */
function harmless(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, '')
}

/**
 * Output of the terminal. On a terminal, all output goes to the screen. In a pipe, only complete answers go to stdout, and all
 * other output goes to stderr. Colours are used on terminals without `NO_COLOR`.
 */
export class Screen {
  readonly isTerminal: boolean
  readonly #out: Output
  readonly #notes: Output
  /** True if the current line has text. */
  #open = false
  /** True if the current line may be overwritten. */
  #passing = false
  /** Shows the prompt, if an input line is expected. */
  #prompt: (() => void) | undefined

  constructor(out: Output, notes: Output) {
    this.isTerminal = out.isTTY === true
    this.#out = out
    this.#notes = this.isTerminal ? out : notes
  }

  /** Shows a piece of an answer as it arrives. */
  delta(text: string, style?: Style): void {
    const shown = harmless(text)
    if (!this.isTerminal || shown === '') return
    this.dropPrompt()
    this.#settle()
    this.#out.write(style ? this.#styled(style, shown) : shown)
    this.#open = !shown.endsWith('\n')
  }

  /** Shows a complete answer, unless its pieces were shown. */
  answer(text: string): void {
    if (!this.isTerminal && text !== '') this.tell(text)
  }

  /** Writes the result of a command. */
  tell(text: string): void {
    this.endLine()
    this.#out.write(`${harmless(text).trimEnd()}\n`)
  }

  /** Writes a line about an event. */
  note(text: string, style: Style = 'dim'): void {
    this.endLine()
    this.#notes.write(`${this.#styled(style, harmless(text))}\n`)
    this.#prompt?.()
  }

  /** Writes a line that the next one replaces, if the output allows it. */
  progress(text: string): void {
    if (!this.isTerminal) return this.note(text)
    this.dropPrompt()
    if (!this.#passing) this.endLine()
    this.#out.write(`\r\u001B[K${this.#styled('dim', harmless(text))}`)
    this.#passing = true
    this.#open = true
  }

  /** Must be called after `show` has put the prompt on its own line. A note replaces the prompt and shows it again below itself. */
  hasPrompt(show: () => void): void {
    this.#prompt = show
    this.#passing = true
    this.#open = true
  }

  /** Removes the prompt: a line was typed, or an answer begins. */
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
