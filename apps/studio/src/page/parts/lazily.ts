import { lazy } from 'react'
import type { ComponentType } from 'react'
import { loadCode } from './load-patiently.ts'

/** Like `lazy` of React. If the server does not answer, the code is loaded again later, and the fallback is shown until then. */
export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => ({ default: await loadCode(load) }))
}
