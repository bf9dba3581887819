import type { Footer, SectionContext } from '../../contract/prompt.ts'

export function footerText(footer: Footer, { now, sessionKey }: SectionContext): string {
  const { date, workingFolder, lines = [], sessionKey: named } = footer
  return [
    ...(date ? [`Date: ${dayOf(now)}`] : []),
    ...(workingFolder === undefined ? [] : [`Working folder: ${workingFolder}`]),
    ...lines,
    ...(named && sessionKey !== undefined ? [`Session: ${sessionKey}`] : []),
  ].join('\n')
}

/** In UTC. */
export function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 'yyyy-mm-dd'.length)
}
