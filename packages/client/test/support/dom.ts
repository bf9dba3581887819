import { Window } from 'happy-dom'
import type { ReactNode } from 'react'
import { onTestFinished } from 'vitest'

/** Sets up a real DOM for React. Only names that React looks up are global: fetch and streams stay those of Node. */
const window = new Window()
Object.assign(globalThis, { window, document: window.document })

const { createRoot } = await import('react-dom/client')

export interface Page {
  readonly text: () => string
  readonly leave: () => void
  readonly render: (node: ReactNode) => void
}

export function openPage(node: ReactNode): Page {
  const place = window.document.createElement('div')
  const root = createRoot(place as unknown as Element)
  root.render(node)
  let open = true
  const leave = (): void => {
    if (open) root.unmount()
    open = false
  }
  onTestFinished(leave)
  return { text: () => place.textContent ?? '', leave, render: (next) => root.render(next) }
}

/** Returns the event that a browser sends when the page becomes visible again. */
export function visibilityChange(): Event {
  return new window.Event('visibilitychange') as unknown as Event
}
