import { useEffect, useRef } from 'react'

const nearPixels = 80

/** Keeps the end in sight while text arrives, unless the reader has scrolled up. Does nothing while not `active`. */
export function useStickToBottom<Element extends HTMLElement>(active: boolean) {
  const box = useRef<Element>(null)
  useEffect(() => {
    const element = box.current
    const content = element?.firstElementChild
    if (!active || !element || !content) return
    let near = true
    const onScroll = (): void => {
      near = element.scrollHeight - element.scrollTop - element.clientHeight < nearPixels
    }
    const observer = new ResizeObserver(() => {
      if (near) element.scrollTop = element.scrollHeight
    })
    observer.observe(content)
    element.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', onScroll)
    }
  }, [active])
  return box
}
