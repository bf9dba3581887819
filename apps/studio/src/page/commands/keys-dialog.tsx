import { Dialog } from 'radix-ui'
import { useState } from 'react'

const keys: readonly (readonly [keys: string, meaning: string])[] = [
  ['Ctrl+K', 'commands'],
  ['?', 'this list'],
  ['Enter', 'send; while a run is open: steer it'],
  ['Shift+Enter', 'a new line'],
  ['Ctrl+Shift+Enter', 'queue it as the next message'],
  ['A', 'approve what the agent asks'],
  ['D', 'deny it'],
  ['[', 'one event back'],
  [']', 'one event forward'],
  ['Escape', 'back to now'],
]

/** List of keyboard shortcuts. Mounted while it is open. It restores the focus when it closes. */
export function KeysDialog({ onClose }: { readonly onClose: () => void }) {
  const [opener] = useState(() => document.activeElement as HTMLElement | null)
  return (
    <Dialog.Root open onOpenChange={onClose}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content aria-describedby={undefined} onCloseAutoFocus={() => opener?.focus()} className="dialog w-[min(28rem,92vw)]">
          <Dialog.Title className="text-lg font-semibold">Keys</Dialog.Title>
          <dl className="mt-4 grid grid-cols-[auto_1fr] gap-x-6 gap-y-2 text-sm">
            {keys.map(([key, meaning]) => (
              <div key={key} className="contents">
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
          <Dialog.Close className="button mt-6 ml-auto flex">Close</Dialog.Close>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
