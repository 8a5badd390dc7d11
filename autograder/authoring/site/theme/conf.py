"""Sphinx's settings for the site. Nothing is loaded from another host: fonts, MathJax and the search index are files
of the site. `course site` gives project and html_title.
"""

extensions = ["myst_parser", "sphinx.ext.mathjax"]
language = "en"
copyright = ""
exclude_patterns = ["_static"]

# The text of notebooks is GitHub's Markdown with formulas between dollars.
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_dmath_double_inline = True
myst_heading_anchors = 4
myst_links_external_new_tab = True
# A heading may leave out a level, as in any notebook.
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["course.css"]
html_permalinks_icon = "#"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = False
pygments_style = "a11y-light"
pygments_dark_style = "github-dark-colorblind"
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": {
        "font-stack": "'Source Serif 4', Charter, Cambria, Georgia, serif",
        "font-stack--headings": "Inter, system-ui, sans-serif",
        "font-stack--monospace": "'JetBrains Mono', ui-monospace, Menlo, Consolas, monospace",
        "color-brand-primary": "#0b5a8f",
        "color-brand-content": "#0b5a8f",
        "color-brand-visited": "#0b5a8f",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc4f5",
        "color-brand-content": "#7cc4f5",
        "color-brand-visited": "#7cc4f5",
    },
}

# MathJax itself lies in _static/mathjax: see `site.mathjax`.
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {"options": {"enableMenu": False}}
