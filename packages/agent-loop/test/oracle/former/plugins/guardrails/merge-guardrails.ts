import type { Diagnostic } from '../../base/loaded.ts'
import type { Extension } from '../../contract/extension.ts'
import type { Guardrail } from '../../contract/guardrail.ts'
import { makeGuardrail } from './define-guardrail.ts'
import { loopGuard } from './loop-guard.ts'

interface Candidate {
  readonly guardrail: Guardrail
  readonly origin: string
}

/**
 * All guardrails of an agent in the order in which they are asked: its own, the built-in one, those of files, those of
 * extensions. Of one name the first is used; losers are diagnostics. An own one of the built-in's name replaces it.
 */
export function mergeGuardrails(
  own: readonly Guardrail[],
  fromFiles: readonly Guardrail[],
  extensions: readonly Extension[],
): { readonly guardrails: readonly Guardrail[]; readonly diagnostics: readonly Diagnostic[] } {
  const builtIn = loopGuard()
  const given = own.map((guardrail, index) => makeGuardrail(`guardrails[${index}]`, guardrail))
  const replaced = given.some(({ name }) => name === builtIn.name)
  const candidates: readonly Candidate[] = [
    ...given.map((guardrail) => ({ guardrail, origin: 'the agent' })),
    ...(replaced ? [] : [{ guardrail: builtIn, origin: 'this package' }]),
    ...fromFiles.map((guardrail) => ({ guardrail, origin: 'a file' })),
    ...extensions.flatMap(({ name, guardrails = [] }) => guardrails.map((guardrail) => ({ guardrail, origin: `the extension ${name}` }))),
  ]
  const used = new Map<string, Candidate>()
  const diagnostics: Diagnostic[] = []
  for (const candidate of candidates) {
    const { name } = candidate.guardrail
    const first = used.get(name)
    if (first) diagnostics.push({ kind: 'guardrail', name, message: `of ${candidate.origin} is not used: ${first.origin} has one of that name` })
    else used.set(name, candidate)
  }
  return { guardrails: Object.freeze([...used.values()].map(({ guardrail, origin }) => makeGuardrail(`guardrails of ${origin}`, guardrail))), diagnostics }
}
