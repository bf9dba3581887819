import { closest } from '@bowline/llm/arguments'
import { readTexts, type Reading } from './given.ts'
import { settingKeys, variableOf } from './settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Names the file, as `--config` does. */
export const configVariable = 'BOWLINE_CONFIG'

const prefix = 'BOWLINE_'
/** Few: a variable of somebody else must not be taken for a mistake. */
const charactersPerMistake = 4

/** An empty variable says nothing. */
export function readVariables(environment: Environment, base: string): Reading {
  const texts = settingKeys.flatMap((key) => {
    const origin = variableOf(key)
    const text = environment[origin]
    return text === undefined || text === '' ? [] : [{ key, text, origin }]
  })
  return readTexts(texts, base)
}

/**
 * Variables that were probably meant for this command, and are not read. Others with the prefix belong to somebody else:
 * orchestrators make them of the names of services.
 */
export function misspelledVariables(environment: Environment): readonly { readonly name: string; readonly meant: string }[] {
  const known = [...settingKeys.map(variableOf), configVariable]
  return Object.keys(environment).flatMap((name) => {
    if (!name.startsWith(prefix) || known.includes(name)) return []
    const meant = closest(name.slice(prefix.length), known.map((each) => each.slice(prefix.length)), charactersPerMistake)
    return meant === undefined ? [] : [{ name, meant: prefix + meant }]
  })
}
