import { checkKeys, checkRequired, checkWhole } from '../../base/checks.ts'
import { isRecord } from '../../base/json.ts'

interface WarnAndBlock {
  readonly warn: number
  /** Refuses calls after so many records. */
  readonly block: number
}

interface WarnAndHalt {
  readonly warn: number
  readonly halt: number
}

/** How often something may happen in a turn. A part that is `false` is off; a number that is left out has its default. */
export interface LoopGuardOptions {
  /** The same tool failed with the same input. Default `{ warn: 2, block: 5 }`. */
  readonly sameFailure?: Partial<WarnAndBlock> | false
  /** The same tool failed, with any input. Default `{ warn: 3, halt: 8 }`. */
  readonly sameTool?: Partial<WarnAndHalt> | false
  /** A `pure` tool gave the same output for the same input. Default `{ warn: 2, block: 5 }`. */
  readonly sameResult?: Partial<WarnAndBlock> | false
  /** Calls in a row that guardrails refused. Default `{ halt: 3 }`. */
  readonly blocked?: { readonly halt?: number } | false
}

export interface LoopSettings {
  readonly sameFailure: WarnAndBlock | false
  readonly sameTool: WarnAndHalt | false
  readonly sameResult: WarnAndBlock | false
  readonly blocked: { readonly halt: number } | false
}

/** Throws `invalid-config`. */
export function loopSettings(options: LoopGuardOptions): LoopSettings {
  checkKeys('loopGuard.options', options, ['sameFailure', 'sameTool', 'sameResult', 'blocked'])
  return {
    sameFailure: thresholdsOf('sameFailure', { warn: 2, block: 5 }, options.sameFailure),
    sameTool: thresholdsOf('sameTool', { warn: 3, halt: 8 }, options.sameTool),
    sameResult: thresholdsOf('sameResult', { warn: 2, block: 5 }, options.sameResult),
    blocked: thresholdsOf('blocked', { halt: 3 }, options.blocked),
  }
}

function thresholdsOf<Key extends string>(
  name: string,
  defaults: Readonly<Record<Key, number>>,
  given: { readonly [Each in Key]?: number } | false | undefined,
): Readonly<Record<Key, number>> | false {
  if (given === false) return false
  if (given === undefined) return defaults
  checkRequired(name, given, 'thresholds or false', isRecord)
  checkKeys(name, given, Object.keys(defaults))
  const set = Object.entries<number | null | undefined>(given).filter(([, value]) => value !== undefined)
  for (const [key, value] of set) checkWhole(`${name}.${key}`, value, 1)
  return { ...defaults, ...Object.fromEntries(set) }
}
