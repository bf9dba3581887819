// The theme with fonts requests a style sheet from another host.
export { default } from 'vitepress/theme-without-fonts'
