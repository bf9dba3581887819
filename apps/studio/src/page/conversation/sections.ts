import { parseMarkdownIntoBlocks } from 'streamdown'

/**
 * Markdown text in parts that can be rendered separately. Joined, they equal the text, except for additions where a block was
 * split.
 */
export interface Sections {
  /** Sections that will not change any more. */
  readonly settled: readonly string[]
  /** End of the text, which may grow. */
  readonly open: string
}

/** Length after which a section ends with its current block. */
const usualCharacters = 4000
/** A longer block is split between two lines, because a frame must not render more than this again. */
export const mostCharacters = 12_000

/** Returns a function that splits a growing text. Settled sections are not parsed again, so a longer text costs no more. */
export function createSections(): (text: string) => Sections {
  let settled: readonly string[] = []
  /** Length of the settled text, its last characters, and the text that the open section repeats because a block was split. */
  let length = 0
  let ending = ''
  let repeated = ''
  return (given) => {
    const text = given.includes('\r') ? given.replace(/\r\n?/g, '\n') : given
    if (!text.startsWith(ending, length - ending.length)) [settled, length, ending, repeated] = [[], 0, '', '']
    for (;;) {
      const open = repeated + text.slice(length, length + mostCharacters)
      const end = endOf(open)
      if (!end) return { settled, open: repeated + text.slice(length) }
      settled = [...settled, open.slice(0, end.at) + end.closing]
      length += end.at - repeated.length
      ending = text.slice(Math.max(0, length - 100), length)
      repeated = end.repeated
    }
  }
}

interface End {
  readonly at: number
  /** Text appended to the section to close a block that was split. */
  readonly closing: string
  /** Text that begins the next section: the first line of that block. */
  readonly repeated: string
}

/** Returns the end of the first section of this text. Returns undefined while more text may belong to it. */
function endOf(text: string): End | undefined {
  if (text.length < usualCharacters) return undefined
  let at = 0
  for (const block of parseMarkdownIntoBlocks(text)) {
    // An incomplete first line may still belong to the block before it: `1` may become `1. an item`.
    const isSafe = block.trim() !== '' && block.trimStart().includes('\n')
    if (isSafe && (at >= usualCharacters || (at > 0 && at + block.length >= mostCharacters))) return { at, closing: '', repeated: '' }
    at += block.length
  }
  return text.length < mostCharacters ? undefined : cutInside(text.slice(0, mostCharacters))
}

/** Splits a block after a line. Code is closed and opened again. The remaining rows of a table get its head again. */
function cutInside(block: string): End {
  const fence = /^\s*(`{3,}|~{3,}).*\n/.exec(block)
  const head = /^.*\|.*\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t:|-]*)?\n/.exec(block)
  const repeated = fence?.[0] ?? head?.[0] ?? ''
  const line = block.lastIndexOf('\n') + 1
  const at = line > Math.max(repeated.length, usualCharacters) ? line : block.length - (/[\uD800-\uDBFF]$/.test(block) ? 1 : 0)
  return { at, closing: fence ? `${at === line ? '' : '\n'}${fence[1]}\n` : '', repeated }
}

/** Returns true if the text defines links or footnotes. They only work if the whole text is rendered together. */
export function hasDefinitions(text: string): boolean {
  return /^ {0,3}\[[^\]\n]+\]:/m.test(text)
}
