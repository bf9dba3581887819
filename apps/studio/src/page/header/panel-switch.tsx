export type PanelName = 'sessions' | 'conversation' | 'timeline' | 'inspector'

interface PanelSwitchProps {
  readonly shown: PanelName
  readonly onShow: (panel: PanelName) => void
}

const panels: readonly { readonly name: PanelName; readonly label: string; readonly where: string }[] = [
  { name: 'sessions', label: 'Sessions', where: 'md:hidden' },
  { name: 'conversation', label: 'Conversation', where: '' },
  { name: 'timeline', label: 'Timeline', where: '' },
  { name: 'inspector', label: 'Inspector', where: '' },
]

/** Selects the visible panel if there is not enough room for all. */
export function PanelSwitch({ shown, onShow }: PanelSwitchProps) {
  return (
    <nav aria-label="Panels" className="col-span-full flex gap-1 border-b border-line bg-surface px-2 py-1.5 sm:px-3 xl:hidden">
      {panels.map(({ name, label, where }) => (
        <button
          key={name}
          type="button"
          aria-pressed={shown === name}
          onClick={() => onShow(name)}
          className={`min-w-0 flex-auto rounded-lg px-1 py-1.5 text-[13px] sm:px-2 sm:text-sm font-medium text-ink-soft hover:bg-sunken aria-pressed:bg-accent-soft aria-pressed:text-ink md:flex-none ${where}`}
        >
          {label}
        </button>
      ))}
    </nav>
  )
}
