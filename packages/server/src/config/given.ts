import type { Fault } from './config-error.ts'
import { settings, type SettingKey } from './settings.ts'

/** Value of a key and its source. */
export interface Given {
  readonly key: SettingKey
  readonly value: unknown
  readonly origin: string
  /** Folder to which relative paths refer. */
  readonly base: string
}

/** Valid values and faults of one source. */
export interface Reading {
  readonly given: readonly Given[]
  readonly faults: readonly Fault[]
}

/** Checks texts against the schemas of their keys. */
export function readTexts(texts: readonly { key: SettingKey; text: string; origin: string }[], base: string): Reading {
  const given: Given[] = []
  const faults: Fault[] = []
  for (const { key, text, origin } of texts) {
    const { read, schema } = settings[key]
    const result = schema.safeParse(read(text))
    if (result.success) given.push({ key, value: result.data, origin, base })
    else faults.push(...result.error.issues.map(({ message }) => ({ path: key, origin, message })))
  }
  return { given, faults }
}
