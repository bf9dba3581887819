import { useLayoutEffect, useMemo, useRef } from 'react'

type Actions = Readonly<Record<string, (...args: never[]) => unknown>>

/**
 * Returns the same functions in every render; each calls that of the newest one. So a panel is not drawn anew only because the
 * page is. The names must be the same every time.
 */
export function useSteady<Steady extends Actions>(actions: Steady): Steady {
  const newest = useRef(actions)
  useLayoutEffect(() => void (newest.current = actions))
  return useMemo(() => {
    const steady = Object.keys(newest.current).map((name) => [name, (...args: never[]) => newest.current[name]?.(...args)])
    return Object.fromEntries(steady) as Steady
  }, [])
}
