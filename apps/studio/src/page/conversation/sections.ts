import { parseMarkdownIntoBlocks } from 'streamdown'

/** A text of Markdown in parts that can be drawn one by one. Joined they are the text, apart from what a cut inside of a block needs. */
export interface Sections {
  /** They will not change any more. */
  readonly settled: readonly string[]
  /** The end of the text, which may grow. */
  readonly open: string
}

/** A section ends with the first block that makes it so long. */
const usualCharacters = 4000
/** A block that is longer than this is cut between two lines: a frame must not draw more than so much anew. */
export const mostCharacters = 12_000

/** Returns the sections of a text that grows. What is settled is not read again, so a longer text costs no more. */
export function createSections(): (text: string) => Sections {
  let settled: readonly string[] = []
  /** How much of the text is settled, how that ends, and what the open section begins with because a block was cut. */
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
  /** Follows the section: the end of a block that was cut. */
  readonly closing: string
  /** Begins the next section: the beginning of that block. */
  readonly repeated: string
}

/** Returns the end of the first section of this text. Undefined while more may belong to it. */
function endOf(text: string): End | undefined {
  if (text.length < usualCharacters) return undefined
  let at = 0
  for (const block of parseMarkdownIntoBlocks(text)) {
    // A first line that is not complete may still belong to the block before it: `1` may become `1. an item`.
    const isSafe = block.trim() !== '' && block.trimStart().includes('\n')
    if (isSafe && (at >= usualCharacters || (at > 0 && at + block.length >= mostCharacters))) return { at, closing: '', repeated: '' }
    at += block.length
  }
  return text.length < mostCharacters ? undefined : cutInside(text.slice(0, mostCharacters))
}

/** Cuts a block after a line. Code is closed and opened again; the next rows of a table get its head. */
function cutInside(block: string): End {
  const fence = /^\s*(`{3,}|~{3,}).*\n/.exec(block)
  const head = /^.*\|.*\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t:|-]*)?\n/.exec(block)
  const repeated = fence?.[0] ?? head?.[0] ?? ''
  const line = block.lastIndexOf('\n') + 1
  const at = line > Math.max(repeated.length, usualCharacters) ? line : block.length - (/[\uD800-\uDBFF]$/.test(block) ? 1 : 0)
  return { at, closing: fence ? `${at === line ? '' : '\n'}${fence[1]}\n` : '', repeated }
}

/** Links and footnotes that are defined elsewhere in the text. They are known only where all of it is drawn as one. */
export function hasDefinitions(text: string): boolean {
  return /^ {0,3}\[[^\]\n]+\]:/m.test(text)
}
