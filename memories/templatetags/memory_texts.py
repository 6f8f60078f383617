from django import template

from memories.admin.texts import opening

register = template.Library()
register.filter("opening", opening)
