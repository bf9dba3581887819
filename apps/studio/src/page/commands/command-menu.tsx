import { Command } from 'cmdk'
import { Dialog } from 'radix-ui'
import { useState } from 'react'

export interface PageCommand {
  readonly name: string
  readonly keys?: string
  readonly run: () => void
}

interface CommandMenuProps {
  readonly commands: readonly PageCommand[]
  readonly onClose: () => void
}

/** Searchable list of commands. Mounted while it is open. It restores the focus when it closes. */
export function CommandMenu({ commands, onClose }: CommandMenuProps) {
  const [opener] = useState(() => document.activeElement as HTMLElement | null)
  return (
    <Dialog.Root open onOpenChange={onClose}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content
          aria-describedby={undefined}
          onCloseAutoFocus={() => opener?.focus()}
          className="dialog top-[12vh] w-[min(34rem,94vw)] translate-y-0 p-0"
        >
          <Dialog.Title className="sr-only">Commands</Dialog.Title>
          <Command label="Commands" className="flex flex-col">
            <Command.Input
              placeholder="What would you like to do?"
              className="border-b border-line bg-transparent px-4 py-3 outline-none"
            />
            <Command.List className="max-h-80 overflow-y-auto p-2">
              <Command.Empty className="px-3 py-4 text-sm text-ink-soft">Nothing is called that.</Command.Empty>
              {commands.map(({ name, keys, run }) => (
                <Command.Item
                  key={name}
                  value={name}
                  className="menu-item"
                  onSelect={() => {
                    onClose()
                    run()
                  }}
                >
                  {name}
                  {keys !== undefined && <kbd className="ml-auto">{keys}</kbd>}
                </Command.Item>
              ))}
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
