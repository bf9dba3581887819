import { useEffect, useState } from 'react'

export type Theme = 'system' | 'light' | 'dark'

const key = 'theme'
const themes: readonly Theme[] = ['system', 'light', 'dark']

/** Returns the theme: that of the system, unless the user has selected one. */
export function useTheme(): { readonly theme: Theme; readonly next: () => void } {
  const [theme, setTheme] = useState<Theme>(read)
  useEffect(() => {
    document.documentElement.dataset.theme = theme
    localStorage.setItem(key, theme)
  }, [theme])
  return { theme, next: () => setTheme((now) => themes[(themes.indexOf(now) + 1) % themes.length] ?? 'system') }
}

function read(): Theme {
  const stored = localStorage.getItem(key)
  return themes.find((theme) => theme === stored) ?? 'system'
}
