import type { Plan } from './program.ts'

const marker = /plan:([A-Za-z0-9_-]*)/g

/** An input as text: its name for those who look for it, and its plan for the model. */
export function textOfInput(token: string, plan: Plan | undefined): string {
  return plan ? `${token} plan:${Buffer.from(JSON.stringify(plan)).toString('base64url')}` : token
}

/** The last plan in a text; undefined when it has none. */
export function planIn(text: string): Plan | undefined {
  const encoded = [...text.matchAll(marker)].at(-1)?.[1]
  return encoded === undefined || encoded === '' ? undefined : (JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Plan)
}

/** How an input is found again: in the log, in the inbox, and in what a model is sent. */
export function tokenOf(session: string, name: string): string {
  return `<${session}/${name}>`
}
