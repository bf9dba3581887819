/** A pattern whose test takes linear time in the length of the text. */
export interface LinearPattern {
  readonly test: (text: string) => boolean
  /** Number of instructions of its program: a test takes at most this many steps per character. */
  readonly size: number
}

/** Compiles the patterns of one schema. */
export interface PatternCompiler {
  /** Returns undefined for a pattern that cannot be tested in linear time, or that is too large. */
  compile(source: unknown): LinearPattern | undefined
}

const maxPatternLength = 1000
const maxInstructions = 2000
/** Limit for all patterns of one compiler together. Compiling that many blocks the process for about 50 ms. */
const maxInstructionsInAll = 5000

/** Further characters that JavaScript counts as white space. */
const furtherSpaces = '\\x0b\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'

/** Loads the engine only for schemas with patterns. */
export async function patternCompiler(): Promise<PatternCompiler> {
  const { RE2JS } = await import('re2js')
  const compiled = new Map<string, LinearPattern | undefined>()
  let instructionsLeft = maxInstructionsInAll

  function compileNew(source: string): LinearPattern | undefined {
    const translated = isJavaScript(source) ? translate(source) : undefined
    if (translated === undefined || estimate(source) > Math.min(maxInstructions, instructionsLeft)) return undefined
    try {
      const pattern = RE2JS.compile(RE2JS.translateRegExp(translated))
      instructionsLeft -= pattern.programSize()
      return { test: (text) => pattern.test(text), size: pattern.programSize() }
    } catch {
      // Lookaround and backreferences are not supported, because they need more than linear time.
      return undefined
    }
  }
  return {
    compile(source) {
      if (typeof source !== 'string' || source.length > maxPatternLength) return undefined
      if (!compiled.has(source)) compiled.set(source, compileNew(source))
      return compiled.get(source)
    },
  }
}

/** Schemas may come from other languages with other regular expressions. `\p` and `\u{` have another meaning without the flag `u`. */
function isJavaScript(source: string): boolean {
  if (/\\p\{|\\u\{/i.test(source)) return false
  try {
    new RegExp(source)
    return true
  } catch {
    return false
  }
}

/** Returns the pattern with JavaScript's white space, or undefined if the engine cannot express it. */
function translate(source: string): string | undefined {
  let inClass = false
  let translated = ''
  for (let index = 0; index < source.length; index++) {
    const character = source.charAt(index)
    if (character === '\\') {
      const escaped = source.charAt(++index)
      if (escaped === 'S' && inClass) return undefined
      if (escaped === 's') translated += inClass ? `\\s${furtherSpaces}` : `[\\s${furtherSpaces}]`
      else translated += escaped === 'S' ? `[^\\s${furtherSpaces}]` : `\\${escaped}`
      continue
    }
    if (character === '[' && !inClass) inClass = true
    else if (character === ']') inClass = false
    else if (character === '.' && !inClass) {
      translated += '[^\\n\\r\\x{2028}\\x{2029}]'
      continue
    }
    translated += character
  }
  return translated
}

/** Returns an upper bound of the program size: each counted repeat multiplies its operand. */
function estimate(source: string): number {
  const groups: { size: number; last: number }[] = [{ size: 0, last: 0 }]
  const repeat = /\\.|\{(\d+)(?:,(\d*))?\}|[\s\S]/g
  for (const [text, least, most] of source.matchAll(repeat)) {
    const group = groups.at(-1) ?? { size: 0, last: 0 }
    if (text === '(') groups.push({ size: 0, last: 0 })
    else if (least !== undefined) {
      const times = Math.max(Number(least), Number(most ?? 0)) + 1
      group.size += group.last * times
      group.last *= times
    } else {
      const closed = text === ')' && groups.length > 1 ? groups.pop() : undefined
      const outer = groups.at(-1) ?? group
      outer.last = closed ? closed.size + 2 : 1
      outer.size += outer.last
    }
  }
  return groups.reduce((sum, { size }) => sum + size, 0)
}
