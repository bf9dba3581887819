/** A pattern whose test takes time that is linear in the text, whatever the pattern. */
export interface LinearPattern {
  readonly test: (text: string) => boolean
  /** Instructions of its program: one test takes at most this many steps for each character. */
  readonly size: number
}

/** Compiles the patterns of one schema. */
export interface PatternCompiler {
  /** Returns undefined for a pattern that cannot be checked in linear time, or that is too large. */
  compile(source: unknown): LinearPattern | undefined
}

const maxPatternLength = 1000
const maxInstructions = 2000
/** Limit for all patterns of one compiler together. Compiling so many blocks the process for some 50 ms. */
const maxInstructionsInAll = 5000

/** JavaScript counts these as spaces too. */
const furtherSpaces = '\\x0b\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'

/** The engine is loaded by the first schema that has a pattern. */
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
      // It looks around or back, which takes more than linear time.
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

/** Other languages have other expressions, and so have the schemas that they make. `\p` and `\u{` mean something else without the flag `u`. */
function isJavaScript(source: string): boolean {
  if (/\\p\{|\\u\{/i.test(source)) return false
  try {
    new RegExp(source)
    return true
  } catch {
    return false
  }
}

/** Returns the pattern with the spaces of JavaScript, or undefined if the engine has no words for it. */
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

/** Returns at least the size of the program: each counted repeat multiplies what it repeats. */
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
