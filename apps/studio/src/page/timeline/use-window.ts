import { useEffect, useState } from 'react'
import type { RefObject } from 'react'

const marginPixels = 400

/** Returns the visible part of a wide drawing with a margin: only that is rendered. `width` is the width of the drawing. */
export function useWindow(box: RefObject<HTMLElement | null>, width: number): readonly [from: number, to: number] {
  const [range, setRange] = useState<readonly [number, number]>([-marginPixels, 2000])
  useEffect(() => {
    const element = box.current
    if (!element) return
    const update = (): void => {
      const from = Math.floor((element.scrollLeft - marginPixels) / 200) * 200
      const to = from + Math.ceil((element.clientWidth + 2 * marginPixels) / 200 + 1) * 200
      setRange((known) => (known[0] === from && known[1] === to ? known : [from, to]))
    }
    update()
    const observer = new ResizeObserver(update)
    observer.observe(element)
    element.addEventListener('scroll', update, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', update)
    }
  }, [box, width])
  return range
}
