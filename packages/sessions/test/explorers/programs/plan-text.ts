import type { Plan } from './program.ts'

const marker = /plan:([A-Za-z0-9_-]*)/g

/** Returns an input as text: its token for searching, and its plan for the model. */
export function textOfInput(token: string, plan: Plan | undefined): string {
  return plan ? `${token} plan:${Buffer.from(JSON.stringify(plan)).toString('base64url')}` : token
}

/** Returns the last plan in a text, or undefined if it has none. */
export function planIn(text: string): Plan | undefined {
  const encoded = [...text.matchAll(marker)].at(-1)?.[1]
  return encoded === undefined || encoded === '' ? undefined : (JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Plan)
}

/** Returns the token by which an input is found in the log, in the inbox and in prompts. */
export function tokenOf(session: string, name: string): string {
  return `<${session}/${name}>`
}
