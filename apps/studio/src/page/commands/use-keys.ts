import { useEffect, useEffectEvent } from 'react'

/** Calls the action of a key that is pressed outside a text field. Keys are named `Ctrl+k`, `?`, `[`. */
export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const onKey = useEffectEvent((event: KeyboardEvent): void => {
    const isCommand = event.ctrlKey || event.metaKey
    if (event.altKey || event.defaultPrevented || (!isCommand && isField(event.target))) return
    const action = actions[isCommand ? `Ctrl+${event.key.toLowerCase()}` : event.key]
    if (!action) return
    event.preventDefault()
    action()
  })
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => onKey(event)
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  }, [])
}

function isField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.closest('input:not([type=range]), textarea, select, dialog, [role=dialog], [role=alertdialog], [role=menu]') !== null)
  )
}
