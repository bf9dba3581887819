import { installFileReader } from '../plugins/prompt/read-source.ts'
import { nodeFileReader } from './files.ts'

export type { Loaded } from '../base/loaded.ts'
export { loadGuardrails } from './load-guardrails.ts'
export type { LoadGuardrailsOptions } from './load-guardrails.ts'
export { loadSkills } from './load-skills.ts'
export type { LoadSkillsOptions } from './load-skills.ts'

// Importing this entry makes `{ file }` and `docs` work.
installFileReader(nodeFileReader)
