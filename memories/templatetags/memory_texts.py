from django import template

from memories.texts import moment, opening

register = template.Library()
register.filter("opening", opening)
register.filter("moment", moment)
