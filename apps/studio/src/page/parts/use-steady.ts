import { useLayoutEffect, useMemo, useRef } from 'react'

type Actions = Readonly<Record<string, (...args: never[]) => unknown>>

/**
 * Returns the same functions in every render. Each calls the function of the newest render, so that a panel is not rendered again
 * only because the page is. The names must be the same every time.
 */
export function useSteady<Steady extends Actions>(actions: Steady): Steady {
  const newest = useRef(actions)
  useLayoutEffect(() => void (newest.current = actions))
  return useMemo(() => {
    const steady = Object.keys(newest.current).map((name) => [name, (...args: never[]) => newest.current[name]?.(...args)])
    return Object.fromEntries(steady) as Steady
  }, [])
}
